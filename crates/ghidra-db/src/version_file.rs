//! An older version of a buffer file: the newest file, with the buffers that later versions
//! replaced laid over it, each version file (`ver.N.gbf`) taking one step back.

use std::collections::{HashMap, HashSet};

use crate::bytes::Bytes;
use crate::{BufferFile, Error};

const MAGIC: i32 = 0x382d_3435;

/// Buffers of one version: those of the newest file, but for what changed since.
#[derive(Debug, Clone)]
pub(crate) struct Buffers {
    newest: BufferFile,
    /// From the version asked for to the newest but one.
    steps: Vec<Step>,
}

#[derive(Debug, Clone)]
struct Step {
    file: BufferFile,
    count: usize,
    /// Index then -> index in the version file.
    replaced: HashMap<i32, i32>,
    free: HashSet<i32>,
    original_id: i64,
    target_id: i64,
}

impl Buffers {
    pub(crate) fn newest(file: BufferFile) -> Self {
        Self { newest: file, steps: Vec::new() }
    }

    /// The state before all of `files`, given from the oldest on.
    pub(crate) fn older(newest: BufferFile, files: Vec<BufferFile>) -> Result<Self, Error> {
        let mut steps = Vec::with_capacity(files.len());
        for file in files {
            let step = Step::parse(file)?;
            if step.file.buffer_size() != newest.buffer_size() {
                return Err(Error::File("a version file has buffers of another size".into()));
            }
            steps.push(step);
        }
        let reached = steps.iter().map(|step| step.original_id).skip(1).chain([newest.file_id]);
        if steps.iter().map(|step| step.target_id).ne(reached) {
            return Err(Error::File("a version file belongs to another file".into()));
        }
        Ok(Self { newest, steps })
    }

    pub(crate) fn buffer(&self, index: i32) -> Result<&[u8], Error> {
        for step in &self.steps {
            if let Some(&at) = step.replaced.get(&index) {
                return step.file.buffer(at);
            }
        }
        if let Some(step) = self.steps.first() {
            let outside = usize::try_from(index).is_ok_and(|index| index >= step.count);
            if outside || step.free.contains(&index) {
                let problem = "that version had no such buffer";
                return Err(Error::Buffer { buffer: index, problem });
            }
        }
        self.newest.buffer(index)
    }

    pub(crate) fn buffer_size(&self) -> usize {
        self.newest.buffer_size()
    }

    pub(crate) fn truncated(&self) -> bool {
        self.newest.truncated || self.steps.iter().any(|step| step.file.truncated)
    }
}

impl Step {
    fn parse(file: BufferFile) -> Result<Self, Error> {
        let number = |name: &str| {
            file.parameter(&format!("~VF.{name}"))
                .ok_or_else(|| Error::File(format!("a version file does not say its {name}")))
        };
        if number("VersionFile")? != MAGIC {
            return Err(Error::File("the version file's magic number is another".into()));
        }
        let joined = |high: i32, low: i32| i64::from(high) << 32 | i64::from(low.cast_unsigned());
        let original_id = joined(number("OriginalIdHi")?, number("OriginalIdLow")?);
        let target_id = joined(number("TargetIdHi")?, number("TargetIdLow")?);
        let count = usize::try_from(number("OrigBufCnt")?).unwrap_or(0);
        let mut replaced = HashMap::new();
        walk(&file, number("MapIndex")?, 2, |entry| {
            replaced.entry(entry[0]).or_insert(entry[1]);
        })?;
        let mut free = HashSet::new();
        walk(&file, number("FreeListIndex")?, 1, |entry| {
            free.insert(entry[0]);
        })?;
        Ok(Self { count, replaced, free, original_id, target_id, file })
    }
}

/// A list over a chain of buffers: the next buffer, then entries of `width` numbers up to a negative one.
fn walk(
    file: &BufferFile,
    first: i32,
    width: usize,
    mut entry: impl FnMut(&[i32]),
) -> Result<(), Error> {
    let mut at = first;
    let mut seen = HashSet::new();
    while seen.insert(at) {
        let buffer = file.buffer(at)?;
        let mut numbers = Bytes::new(buffer);
        let next = numbers.i32();
        let mut row = Vec::with_capacity(width);
        while numbers.position() + 4 * width <= buffer.len() {
            row.clear();
            row.extend(std::iter::from_fn(|| numbers.i32()).take(width));
            if row[0] < 0 {
                return Ok(());
            }
            entry(&row);
        }
        at = next.unwrap_or(-1);
    }
    Err(Error::Buffer { buffer: at, problem: "a version file's list leads back to it" })
}
