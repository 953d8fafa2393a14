//! How functions of Windows programs begin, and what lies before them: the habits of compilers whose
//! code keeps the conventions of Windows.
//!
//! A pattern is a row of bytes: two hexadecimal digits, or eight bits of which dots may be
//! anything; `..` is any byte.

use std::sync::OnceLock;

/// Bits that the bytes before and behind a start of 32-bit code must fix together.
const FIXED: u32 = 32;

/// Fillers and returns before 32-bit functions.
const X86_ENDS: &[&str] = &["cc", "cc cc", "90", "c3", "c9 c3", "c2 ......00 00"];
const X86_BEGINS: &[&str] = &[
    // push ebp; mov ebp,esp in both encodings, and behind a place for a patch
    "55 8b ec",
    "55 89 e5",
    "8b ff 55 8b ec",
    // sub esp,n
    "83 ec 0.....00",
    // push -1; push handler; mov eax,fs:[0]
    "6a ff 68 .. .. .. .. 64 a1 00 00 00 00",
    // mov eax,n; call
    "b8 .. .. .. .. e8",
    // push esi; mov esi,ecx
    "56 8b f1",
    // push ebx; mov ebx,register
    "53 8b 110110..",
    // registers saved one behind the other, and copied
    "53 56 57",
    "53 55 56",
    "53 56 51",
    "53 56 8b f2",
    "53 56 8b d8",
    "53 56 8b f1",
    "53 56 8b da",
    "53 56 8b f0",
    "56 57 8b f9",
    "56 57 8b f1",
    "55 57 56 53",
];
/// Jumps before 32-bit functions, and the beginnings that are believed there.
const X86_JUMPS: &[&str] = &["e9 .. .. .. ..", "eb .."];
const X86_BEHIND_JUMPS: &[&str] =
    &["55 8b ec", "56 8b f1", "b8 .. .. .. .. e8 .. .. .. .. 100000.1 ec", "8b ff 55 8b ec"];
/// Beginnings that need nothing but something defined before them.
const X86_BEHIND_DATA: &[&str] = &["55 8b ec", "8b ff 55 8b ec"];
/// push register; mov register,[esp+small]
const X86_BEHIND_ANYTHING: &[&str] = &["01010... 8b 01...100 ..100100 000...00"];
const X86_FILLERS: &[&str] = &["cc cc", "cc cc cc", "cc cc cc cc"];
/// push n; push address; call
const X86_BEHIND_FILLERS: &[&str] = &["6a .. 68 .. .. .. .. e8"];

/// What lies before a 64-bit function, and how it begins there.
const X64: &[(&str, &str)] = &[
    // sub rsp,n
    ("90 90 90", "48 83 ec"),
    ("cc cc cc", "48 83 ec"),
    // mov [rsp+n],register
    ("90 90 90", "48 89 01...100 ..100100"),
    ("cc cc cc", "48 89 01...100 ..100100"),
    ("90", "48 89 01...100 ..100100 .. 48 89"),
    ("90", "48 89 01...100 ..100100 ......00 01010... 01010..."),
    ("c3", "48 89 01...100 ..100100 ......00 01010... 01010..."),
    // push rbp; lea rbp,[rsp]
    ("c3", "55 48 8d 2c 24"),
    ("90", "55 48 8d 2c 24"),
    ("c3", "01010... 55 48 8d 2c 24"),
    ("90", "01010... 55 48 8d 2c 24"),
    // mov rax,rsp
    ("90 90 90", "48 8b c4"),
    ("cc cc cc", "48 8b c4"),
    // push rbp; sub rsp,n
    ("90", "ff f5 48 83 ec"),
    ("cc", "ff f5 48 83 ec"),
    ("90", "55 48 83 ec"),
    ("c3", "55 48 83 ec"),
    ("cc", "55 48 83 ec"),
    // push register; sub rsp,n
    ("cc", "40 01010... 48 83 ec"),
    // push rbp; mov rbp,register
    ("cc cc cc", "40 55 48 8b 11101..."),
    // mov register,rsp; sub rsp,n or a store beside it
    ("cc", "4c 8b 11...100 48 83 ec"),
    ("cc cc", "4c 8b 11...100 01001.01 89"),
];

/// A row of bytes, each with the bits that count and their values.
pub(crate) struct Pattern(Vec<(u8, u8)>);

impl Pattern {
    pub(crate) fn new(text: &str) -> Pattern {
        Pattern(text.split_whitespace().map(byte).collect())
    }

    pub(crate) fn begins(&self, bytes: &[u8]) -> bool {
        bytes.len() >= self.0.len() && self.matches(&bytes[..self.0.len()])
    }

    fn ends(&self, bytes: &[u8]) -> bool {
        bytes.len().checked_sub(self.0.len()).is_some_and(|at| self.matches(&bytes[at..]))
    }

    fn matches(&self, bytes: &[u8]) -> bool {
        self.0.iter().zip(bytes).all(|((mask, value), byte)| byte & mask == *value)
    }

    fn fixed(&self) -> u32 {
        self.0.iter().map(|(mask, _)| mask.count_ones()).sum()
    }
}

fn byte(text: &str) -> (u8, u8) {
    if text.len() != 8 {
        return u8::from_str_radix(text, 16).map_or((0, 0), |value| (0xff, value));
    }
    text.bytes().fold((0, 0), |(mask, value), bit| {
        (mask << 1 | u8::from(bit != b'.'), value << 1 | u8::from(bit == b'1'))
    })
}

/// One way in which functions begin.
pub(crate) struct Habit {
    /// What lies before.
    end: Option<Pattern>,
    begin: Pattern,
    /// What must stand right before.
    pub(crate) behind: Behind,
}

/// What must stand right before a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Anything.
    Anything,
    /// Code, data, or the start of a memory block.
    Defined,
    /// Data, or the start of a memory block.
    Data,
}

impl Habit {
    fn alone(text: &str, behind: Behind) -> Habit {
        Habit { end: None, begin: Pattern::new(text), behind }
    }
}

/// Every pair that fixes enough bits.
fn pairs(ends: &[&str], begins: &[&str], fixed: u32, behind: Behind) -> Vec<Habit> {
    let all = ends.iter().flat_map(|end| begins.iter().map(move |begin| (end, begin)));
    let all = all.map(|(end, begin)| (Pattern::new(end), Pattern::new(begin)));
    let enough = all.filter(|(end, begin)| end.fixed() + begin.fixed() >= fixed);
    enough.map(|(end, begin)| Habit { end: Some(end), begin, behind }).collect()
}

fn x86() -> Vec<Habit> {
    let anything = [X86_ENDS, X86_JUMPS].concat();
    let alone = X86_BEHIND_DATA.iter().map(|text| Habit::alone(text, Behind::Data));
    [
        pairs(X86_ENDS, X86_BEGINS, FIXED, Behind::Anything),
        pairs(X86_JUMPS, X86_BEHIND_JUMPS, FIXED, Behind::Anything),
        pairs(X86_FILLERS, X86_BEHIND_FILLERS, FIXED, Behind::Anything),
        pairs(&anything, X86_BEHIND_ANYTHING, FIXED, Behind::Defined),
        alone.collect(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn x64() -> Vec<Habit> {
    let pair = |(end, begin): &(&str, &str)| Habit {
        end: Some(Pattern::new(end)),
        ..Habit::alone(begin, Behind::Anything)
    };
    X64.iter().map(pair).collect()
}

/// The habits of a kind of compiler.
pub(crate) struct Habits {
    all: Vec<Habit>,
    /// Which of them allow a function's first byte.
    by_first: Vec<Vec<usize>>,
}

impl Habits {
    fn new(all: Vec<Habit>) -> Habits {
        let allows = |habit: &Habit, byte: u8| {
            habit.begin.0.first().is_some_and(|(mask, value)| byte & mask == *value)
        };
        let with = |byte| (0..all.len()).filter(|index| allows(&all[*index], byte)).collect();
        let by_first = (0..=u8::MAX).map(with).collect();
        Habits { all, by_first }
    }

    /// Whether a function may begin with that byte.
    pub(crate) fn allow(&self, first: u8) -> bool {
        !self.by_first[usize::from(first)].is_empty()
    }

    /// Those that fit the bytes before a place and from it on.
    pub(crate) fn fitting<'a>(
        &'a self,
        before: &'a [u8],
        from: &'a [u8],
    ) -> impl Iterator<Item = &'a Habit> {
        let first = from.first().map(|first| self.by_first[usize::from(*first)].as_slice());
        first.unwrap_or_default().iter().map(|index| &self.all[*index]).filter(move |habit| {
            habit.begin.begins(from) && habit.end.as_ref().is_none_or(|end| end.ends(before))
        })
    }
}

/// The habits of compilers for Windows, for pointers of four or eight bytes.
pub(crate) fn habits(pointer_size: u32) -> &'static Habits {
    static X86: OnceLock<Habits> = OnceLock::new();
    static X64: OnceLock<Habits> = OnceLock::new();
    match pointer_size {
        8 => X64.get_or_init(|| Habits::new(x64())),
        _ => X86.get_or_init(|| Habits::new(x86())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What must stand before, for each habit that fits.
    fn starts(size: u32, before: &[u8], from: &[u8]) -> Vec<Behind> {
        habits(size).fitting(before, from).map(|habit| habit.behind).collect()
    }

    #[test]
    fn frames_begin_behind_fillers_and_returns() {
        let starts = |before, from| !starts(4, before, from).is_empty();
        assert!(starts(&[0x5d, 0xc3], &[0x55, 0x89, 0xe5, 0x83, 0xec]));
        assert!(starts(&[0xc2, 0x08, 0x00], &[0x83, 0xec, 0x1c]));
        // A filler of several bytes is none of those that are known.
        assert!(!starts(&[0xc3, 0x8d, 0x76, 0x00], &[0x55, 0x89, 0xe5]));
        assert!(starts(&[0xe9, 1, 2, 3, 4], &[0x55, 0x8b, 0xec]));
        assert!(!starts(&[0xe9, 1, 2, 3, 4], &[0x55, 0x89, 0xe5]));
    }

    #[test]
    fn short_beginnings_need_long_ends() {
        assert!(starts(4, &[0x90, 0x90], &[0x83, 0xec, 0x1c]).is_empty());
        assert!(!starts(4, &[0xcc, 0xcc], &[0x83, 0xec, 0x1c]).is_empty());
        assert!(starts(8, &[0xc3, 0x90, 0x90], &[0x48, 0x83, 0xec, 0x28]).is_empty());
        assert!(!starts(8, &[0x90, 0x90, 0x90], &[0x48, 0x83, 0xec, 0x28]).is_empty());
        assert!(!starts(8, &[0xc3], &[0x55, 0x48, 0x83, 0xec, 0x20]).is_empty());
    }

    #[test]
    fn what_stands_before_decides_where_bytes_do_not() {
        assert_eq!(starts(4, &[1], &[0x55, 0x8b, 0xec]), [Behind::Data]);
        let argument = [0x53, 0x8b, 0x5c, 0x24, 0x08];
        assert_eq!(starts(4, &[0xc3], &argument), [Behind::Defined]);
    }
}
