//! Models of common functions of C libraries and Windows: what they do to the run's memory and
//! what they return. They touch nothing of the host.

use crate::cells::mask;
use crate::interpreter::Machine;
use crate::memory::Purpose;
use crate::outcome::Stop;

/// A function that is known.
pub(crate) struct Model {
    name: &'static str,
    /// How many words it takes.
    pub(crate) arguments: usize,
    run: fn(&mut Machine<'_>) -> Answer,
}

/// The word returned, if one is.
type Answer = Result<Option<u64>, Stop>;

/// The names of all functions that are known.
pub fn model_names() -> impl Iterator<Item = &'static str> {
    MODELS.iter().map(|model| model.name)
}

/// The model of a function by the name it is imported under.
pub(crate) fn find(name: &str) -> Option<&'static Model> {
    let exact = |name: &str| MODELS.iter().find(|model| model.name == name);
    let plain = name.split('@').next().unwrap_or(name);
    exact(plain).or_else(|| exact(plain.trim_start_matches('_')))
}

const fn model(name: &'static str, arguments: usize, run: fn(&mut Machine<'_>) -> Answer) -> Model {
    Model { name, arguments, run }
}

const MODELS: &[Model] = &[
    model("strlen", 1, |m| length(m, 1, None)),
    model("strnlen", 2, |m| {
        let most = m.argument(1)?;
        length(m, 1, Some(most))
    }),
    model("wcslen", 1, |m| {
        let unit = m.wide_character();
        length(m, unit, None)
    }),
    model("lstrlenA", 1, |m| length(m, 1, None)),
    model("lstrlenW", 1, |m| length(m, 2, None)),
    model("strcmp", 2, |m| compare(m, None, false)),
    model("lstrcmpA", 2, |m| compare(m, None, false)),
    model("lstrcmpiA", 2, |m| compare(m, None, true)),
    model("strcasecmp", 2, |m| compare(m, None, true)),
    model("stricmp", 2, |m| compare(m, None, true)),
    model("strncmp", 3, |m| {
        let most = m.argument(2)?;
        compare(m, Some(most), false)
    }),
    model("strncasecmp", 3, |m| {
        let most = m.argument(2)?;
        compare(m, Some(most), true)
    }),
    model("strnicmp", 3, |m| {
        let most = m.argument(2)?;
        compare(m, Some(most), true)
    }),
    model("strcpy", 2, |m| copy_text(m, false)),
    model("strcpy_chk", 2, |m| copy_text(m, false)),
    model("lstrcpyA", 2, |m| copy_text(m, false)),
    model("stpcpy", 2, |m| copy_text(m, true)),
    model("strncpy", 3, copy_padded),
    model("strcat", 2, append),
    model("strcat_chk", 2, append),
    model("lstrcatA", 2, append),
    model("strncat", 3, append_part),
    model("strchr", 2, |m| find_character(m, false, false)),
    model("index", 2, |m| find_character(m, false, false)),
    model("strchrnul", 2, |m| find_character(m, false, true)),
    model("strrchr", 2, |m| find_character(m, true, false)),
    model("strstr", 2, find_text),
    model("strspn", 2, |m| span(m, true)),
    model("strcspn", 2, |m| span(m, false)),
    model("strdup", 1, duplicate),
    model("memcpy", 3, |m| copy(m, false)),
    model("memcpy_chk", 3, |m| copy(m, false)),
    model("memmove", 3, |m| copy(m, false)),
    model("memmove_chk", 3, |m| copy(m, false)),
    model("RtlMoveMemory", 3, |m| copy(m, false)),
    model("aeabi_memcpy", 3, |m| copy(m, false)),
    model("mempcpy", 3, |m| copy(m, true)),
    model("memset", 3, fill),
    model("memset_chk", 3, fill),
    model("bzero", 2, clear),
    model("RtlZeroMemory", 2, clear),
    model("memcmp", 3, compare_bytes),
    model("bcmp", 3, compare_bytes),
    model("memchr", 3, find_byte),
    model("malloc", 1, |m| {
        let size = m.argument(0)?;
        m.allot(size).map(Some)
    }),
    model("calloc", 2, |m| {
        let size = m.argument(0)?.checked_mul(m.argument(1)?);
        m.allot(size.unwrap_or(u64::MAX)).map(Some)
    }),
    model("realloc", 2, reallot),
    model("free", 1, |_| Ok(None)),
    model("HeapAlloc", 3, |m| {
        let size = m.argument(2)?;
        m.allot(size).map(Some)
    }),
    model("HeapFree", 3, |_| Ok(Some(1))),
    model("GetProcessHeap", 0, |_| Ok(Some(1))),
    model("LocalAlloc", 2, |m| {
        let size = m.argument(1)?;
        m.allot(size).map(Some)
    }),
    model("GlobalAlloc", 2, |m| {
        let size = m.argument(1)?;
        m.allot(size).map(Some)
    }),
    model("LocalFree", 1, |_| Ok(Some(0))),
    model("GlobalFree", 1, |_| Ok(Some(0))),
    model("VirtualAlloc", 4, |m| {
        let size = m.argument(1)?;
        m.allot(size).map(Some)
    }),
    model("VirtualFree", 3, |_| Ok(Some(1))),
    model("VirtualProtect", 4, |m| {
        let (address, size) = (m.argument(0)?, m.argument(1)?);
        Ok(Some(u64::from(m.memory.allow(address, size, true, true))))
    }),
    model("mprotect", 3, |m| {
        let (address, size, what) = (m.argument(0)?, m.argument(1)?, m.argument(2)?);
        let done = m.memory.allow(address, size, what & 2 != 0, what & 4 != 0);
        Ok(Some(if done { 0 } else { u64::MAX }))
    }),
    model("toupper", 1, |m| {
        letter(m, |c| c.is_ascii_lowercase(), |c| u64::from(c.to_ascii_uppercase()))
    }),
    model("tolower", 1, |m| {
        letter(m, |c| c.is_ascii_uppercase(), |c| u64::from(c.to_ascii_lowercase()))
    }),
    model("isdigit", 1, |m| class(m, |c| c.is_ascii_digit())),
    model("isxdigit", 1, |m| class(m, |c| c.is_ascii_hexdigit())),
    model("isalpha", 1, |m| class(m, |c| c.is_ascii_alphabetic())),
    model("isalnum", 1, |m| class(m, |c| c.is_ascii_alphanumeric())),
    model("isspace", 1, |m| class(m, |c| c == b' ' || (9..=13).contains(&c))),
    model("isupper", 1, |m| class(m, |c| c.is_ascii_uppercase())),
    model("islower", 1, |m| class(m, |c| c.is_ascii_lowercase())),
    model("ispunct", 1, |m| class(m, |c| c.is_ascii_punctuation())),
    model("isprint", 1, |m| class(m, |c| (0x20..0x7f).contains(&c))),
    model("abs", 1, |m| Ok(Some(u64::from((m.argument(0)? as i32).unsigned_abs())))),
    model("sqrt", 1, |m| numeric(m, f64::sqrt)),
    model("fabs", 1, |m| numeric(m, f64::abs)),
    model("floor", 1, |m| numeric(m, f64::floor)),
    model("ceil", 1, |m| numeric(m, f64::ceil)),
    model("trunc", 1, |m| numeric(m, f64::trunc)),
    model("round", 1, |m| numeric(m, f64::round)),
    model("rint", 1, |m| numeric(m, f64::round_ties_even)),
    model("atoi", 1, |m| Ok(Some(number(m)? as i32 as u32 as u64))),
    model("atol", 1, |m| Ok(Some(number(m)? as u64))),
    model("atoll", 1, |m| Ok(Some(number(m)? as u64))),
];

impl Machine<'_> {
    /// Runs the model of a function at its entry, its result included.
    pub(crate) fn model(&mut self, name: &str) -> Answer {
        let Some(model) = find(name) else {
            return Err(Stop::Import { name: name.to_string(), address: 0 });
        };
        let result = (model.run)(self)?;
        let result = result.map(|value| value & mask(self.places.word));
        if let Some(value) = result {
            self.set_result(value);
        }
        Ok(result)
    }

    /// Bytes of a `wchar_t`.
    fn wide_character(&self) -> u64 {
        if self.language.compiler_spec_id().contains("windows") { 2 } else { 4 }
    }

    /// Counts bytes that a model goes over as instructions, so that it is bounded like these.
    fn charge(&mut self, bytes: u64) -> Result<(), Stop> {
        self.instructions = self.instructions.saturating_add(bytes / 4);
        if self.instructions > self.limit {
            self.instructions = self.limit;
            return Err(Stop::InstructionLimit);
        }
        if self.instructions >= self.next_check { self.check() } else { Ok(()) }
    }

    fn byte(&mut self, address: u64) -> Result<u8, Stop> {
        let address = address & self.memory.highest();
        self.memory.read(address, 1).map(|byte| byte as u8).map_err(|fault| self.stop_of(fault))
    }

    fn store(&mut self, address: u64, bytes: &[u8]) -> Result<(), Stop> {
        match self.memory.write_bytes(address, bytes) {
            Ok(false) => Ok(()),
            Ok(true) => {
                // Nothing of a block is being run at a gate.
                self.blocks.clear();
                self.memory.drop_code();
                Ok(())
            }
            Err(fault) => Err(self.stop_of(fault)),
        }
    }

    fn bytes(&mut self, address: u64, count: u64) -> Result<Vec<u8>, Stop> {
        self.charge(count)?;
        let mut bytes = Vec::new();
        let mut done = 0;
        // Piece by piece: no more is taken than is there.
        while done < count {
            let piece = (count - done).min(4096);
            let start = bytes.len();
            bytes.resize(start + piece as usize, 0);
            let here = address.wrapping_add(done);
            let read = self.memory.read_bytes(here, &mut bytes[start..]);
            read.map_err(|fault| self.stop_of(fault))?;
            done += piece;
        }
        Ok(bytes)
    }

    /// The bytes of a text up to its end, at most so many.
    fn text(&mut self, address: u64, most: u64) -> Result<Vec<u8>, Stop> {
        let mut text = Vec::new();
        while (text.len() as u64) < most {
            if text.len() % 4096 == 4095 {
                self.charge(4096)?;
            }
            match self.byte(address.wrapping_add(text.len() as u64))? {
                0 => break,
                byte => text.push(byte),
            }
        }
        self.charge(text.len() as u64 % 4096)?;
        Ok(text)
    }

    /// Room on the heap, cleared; zero when there is none.
    fn allot(&mut self, size: u64) -> Result<u64, Stop> {
        let Some(region) = self.memory.region(Purpose::Heap) else { return Ok(0) };
        let start = self.heap.0.next_multiple_of(16);
        let end = start.checked_add(size.max(1));
        match end.filter(|end| *end <= region.start + region.length) {
            Some(end) => {
                // A gap behind, so that the next does not begin where this one ends.
                self.heap.0 = end + 16;
                self.heap.1.insert(start, size);
                Ok(start)
            }
            None => Ok(0),
        }
    }
}

fn length(m: &mut Machine<'_>, unit: u64, most: Option<u64>) -> Answer {
    let start = m.argument(0)?;
    let mut count = 0;
    while most.is_none_or(|most| count < most) {
        if count % 4096 == 0 {
            m.charge(4096.min(count))?;
        }
        let mut all = 0;
        for byte in 0..unit {
            all |= m.byte(start.wrapping_add(count * unit + byte))?;
        }
        if all == 0 {
            break;
        }
        count += 1;
    }
    Ok(Some(count))
}

fn compare(m: &mut Machine<'_>, most: Option<u64>, fold: bool) -> Answer {
    let (a, b) = (m.argument(0)?, m.argument(1)?);
    for at in 0..most.unwrap_or(u64::MAX) {
        if at % 4096 == 4095 {
            m.charge(4096)?;
        }
        let mut pair = [m.byte(a.wrapping_add(at))?, m.byte(b.wrapping_add(at))?];
        if fold {
            pair.iter_mut().for_each(u8::make_ascii_lowercase);
        }
        if pair[0] != pair[1] {
            return Ok(Some((i64::from(pair[0]) - i64::from(pair[1])) as u64));
        }
        if pair[0] == 0 {
            break;
        }
    }
    Ok(Some(0))
}

fn copy_text(m: &mut Machine<'_>, to_end: bool) -> Answer {
    let (to, from) = (m.argument(0)?, m.argument(1)?);
    let mut text = m.text(from, u64::MAX)?;
    let count = text.len() as u64;
    text.push(0);
    m.store(to, &text)?;
    Ok(Some(if to_end { to.wrapping_add(count) } else { to }))
}

fn copy_padded(m: &mut Machine<'_>) -> Answer {
    let (to, from, count) = (m.argument(0)?, m.argument(1)?, m.argument(2)?);
    let mut text = m.text(from, count)?;
    let copied = text.len() as u64;
    m.store(to, &text)?;
    text.clear();
    set(m, to.wrapping_add(copied), 0, count - copied)?;
    Ok(Some(to))
}

fn append(m: &mut Machine<'_>) -> Answer {
    let (to, from) = (m.argument(0)?, m.argument(1)?);
    append_text(m, to, from, u64::MAX)
}

fn append_part(m: &mut Machine<'_>) -> Answer {
    let (to, from, most) = (m.argument(0)?, m.argument(1)?, m.argument(2)?);
    append_text(m, to, from, most)
}

fn append_text(m: &mut Machine<'_>, to: u64, from: u64, most: u64) -> Answer {
    let before = m.text(to, u64::MAX)?.len() as u64;
    let mut text = m.text(from, most)?;
    text.push(0);
    m.store(to.wrapping_add(before), &text)?;
    Ok(Some(to))
}

fn find_character(m: &mut Machine<'_>, last: bool, or_end: bool) -> Answer {
    let (start, wanted) = (m.argument(0)?, m.argument(1)? as u8);
    let mut text = m.text(start, u64::MAX)?;
    let end = text.len();
    text.push(0);
    let found = if last {
        text.iter().rposition(|byte| *byte == wanted)
    } else {
        text.iter().position(|byte| *byte == wanted)
    };
    let found = found.or(or_end.then_some(end));
    Ok(Some(found.map_or(0, |at| start.wrapping_add(at as u64))))
}

fn find_text(m: &mut Machine<'_>) -> Answer {
    let (start, wanted) = (m.argument(0)?, m.argument(1)?);
    let text = m.text(start, u64::MAX)?;
    let wanted = m.text(wanted, u64::MAX)?;
    if wanted.is_empty() {
        return Ok(Some(start));
    }
    m.charge((text.len() as u64).saturating_mul(wanted.len() as u64))?;
    let found = text.windows(wanted.len()).position(|part| part == wanted);
    Ok(Some(found.map_or(0, |at| start.wrapping_add(at as u64))))
}

fn span(m: &mut Machine<'_>, inside: bool) -> Answer {
    let (start, set) = (m.argument(0)?, m.argument(1)?);
    let text = m.text(start, u64::MAX)?;
    let set = m.text(set, u64::MAX)?;
    let count = text.iter().take_while(|byte| set.contains(byte) == inside).count();
    Ok(Some(count as u64))
}

fn duplicate(m: &mut Machine<'_>) -> Answer {
    let from = m.argument(0)?;
    let mut text = m.text(from, u64::MAX)?;
    text.push(0);
    let to = m.allot(text.len() as u64)?;
    if to != 0 {
        m.store(to, &text)?;
    }
    Ok(Some(to))
}

fn copy(m: &mut Machine<'_>, to_end: bool) -> Answer {
    let (to, from, count) = (m.argument(0)?, m.argument(1)?, m.argument(2)?);
    let bytes = m.bytes(from, count)?;
    m.store(to, &bytes)?;
    Ok(Some(if to_end { to.wrapping_add(count) } else { to }))
}

fn fill(m: &mut Machine<'_>) -> Answer {
    let (to, byte, count) = (m.argument(0)?, m.argument(1)? as u8, m.argument(2)?);
    set(m, to, byte, count)?;
    Ok(Some(to))
}

fn clear(m: &mut Machine<'_>) -> Answer {
    let (to, count) = (m.argument(0)?, m.argument(1)?);
    set(m, to, 0, count)?;
    Ok(None)
}

fn set(m: &mut Machine<'_>, to: u64, byte: u8, count: u64) -> Result<(), Stop> {
    m.charge(count)?;
    let piece = [byte; 4096];
    let mut done = 0;
    while done < count {
        let size = (count - done).min(piece.len() as u64);
        m.store(to.wrapping_add(done), &piece[..size as usize])?;
        done += size;
    }
    Ok(())
}

fn compare_bytes(m: &mut Machine<'_>) -> Answer {
    let (a, b, count) = (m.argument(0)?, m.argument(1)?, m.argument(2)?);
    m.charge(count)?;
    for at in 0..count {
        let (one, two) = (m.byte(a.wrapping_add(at))?, m.byte(b.wrapping_add(at))?);
        if one != two {
            return Ok(Some((i64::from(one) - i64::from(two)) as u64));
        }
    }
    Ok(Some(0))
}

fn find_byte(m: &mut Machine<'_>) -> Answer {
    let (start, wanted, count) = (m.argument(0)?, m.argument(1)? as u8, m.argument(2)?);
    m.charge(count)?;
    for at in 0..count {
        let place = start.wrapping_add(at);
        if m.byte(place)? == wanted {
            return Ok(Some(place));
        }
    }
    Ok(Some(0))
}

fn reallot(m: &mut Machine<'_>) -> Answer {
    let (from, size) = (m.argument(0)?, m.argument(1)?);
    let before = m.heap.1.get(&from).copied().unwrap_or(0);
    let to = m.allot(size)?;
    if to != 0 && from != 0 {
        let bytes = m.bytes(from, before.min(size))?;
        m.store(to, &bytes)?;
    }
    Ok(Some(to))
}

fn letter(m: &mut Machine<'_>, is: fn(u8) -> bool, change: fn(u8) -> u64) -> Answer {
    let value = m.argument(0)?;
    match u8::try_from(value as u32).ok().filter(|byte| is(*byte)) {
        Some(byte) => Ok(Some(change(byte))),
        None => Ok(Some(u64::from(value as u32))),
    }
}

fn class(m: &mut Machine<'_>, is: fn(u8) -> bool) -> Answer {
    let value = m.argument(0)? as u32;
    Ok(Some(u64::from(u8::try_from(value).is_ok_and(is))))
}

fn numeric(m: &mut Machine<'_>, compute: fn(f64) -> f64) -> Answer {
    let value = m.number()?;
    m.set_number(compute(value))?;
    Ok(None)
}

/// The decimal number that a text begins with.
fn number(m: &mut Machine<'_>) -> Result<i64, Stop> {
    let from = m.argument(0)?;
    let text = m.text(from, 4096)?;
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let value = digits.fold(0i64, |value, digit| {
        value.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    });
    Ok(if negative { -value } else { value })
}
