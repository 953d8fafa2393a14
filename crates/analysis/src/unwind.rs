//! Exception tables as GCC lays them down (`.eh_frame_hdr`, `.eh_frame`,
//! `.gcc_except_table`): where functions start and end, where exceptions land,
//! and Ghidra's mark-up of the tables themselves.
//!
//! Every entry is read once, and overlapping data areas share one budget, so
//! that the cost is linear in the bytes of the tables whatever they say.

mod encoding;
mod frame;
mod lsda;
mod sink;

use encoding::Source;
use program::{Address, AddressRange, CommentKind, Program};
use sink::{Deaf, MarkUp, Sink};

/// A stretch of a function's code that an exception may leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// The guarded instructions.
    pub range: AddressRange,
    /// Where such an exception lands; `None` when it passes through.
    pub landing_pad: Option<Address>,
    /// What is caught there, in order.
    pub catches: Vec<Catch>,
}

/// One type that a landing pad catches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Catch {
    /// The number that the landing pad compares with; zero is a cleanup.
    pub filter: i64,
    /// Where the type is described; address zero catches everything.
    pub type_info: Option<Address>,
}

/// What the tables say about one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its code.
    pub body: AddressRange,
    /// Its guarded parts.
    pub call_sites: Vec<CallSite>,
}

/// The functions that the exception tables describe, in the tables' order.
pub fn frames(program: &Program) -> Vec<Frame> {
    let source = Source { memory: &program.memory, pointer: program.types.organization().pointer };
    frame::Reader::new(source, &mut Deaf).read()
}

/// Where the exception tables say that code starts: functions, and then the landing pads, to
/// which no flow leads. Each sorted, each place once, only in memory that can be executed.
pub fn code_starts(program: &Program) -> [Vec<Address>; 2] {
    let frames = frames(program);
    let functions = frames.iter().map(|frame| frame.body.start).collect();
    let sites = frames.iter().flat_map(|frame| &frame.call_sites);
    let pads = sites.filter_map(|site| site.landing_pad).collect();
    [functions, pads].map(|mut starts: Vec<Address>| {
        starts.retain(|at| program.memory.block_at(*at).is_some_and(|b| b.permissions.execute));
        starts.sort_unstable();
        starts.dedup();
        starts
    })
}

/// Marks the tables up and notes guarded code and landing pads, until `ends` says so: it is asked
/// at every entry.
pub fn mark_up(program: &mut Program, ends: &dyn Fn() -> bool) {
    if !matches!(&*program.info.compiler_spec_id, "gcc" | "default") {
        return;
    }
    let memory = program.memory.clone();
    let source = Source { memory: &memory, pointer: program.types.organization().pointer };
    let mut sink = MarkUp::new(program, ends);
    let frames = frame::Reader::new(source, &mut sink).read();
    for frame in frames {
        if sink.ends() {
            return;
        }
        frame.call_sites.iter().for_each(|site| note_call_site(&mut sink, site));
    }
}

/// The comments around guarded code and at its landing pad.
fn note_call_site(sink: &mut MarkUp<'_>, site: &CallSite) {
    let Some(landing) = site.landing_pad.map(|pad| pad.offset) else { return };
    let (first, last) = (site.range.start.offset, site.range.end.offset);
    sink.add_line(
        site.range.start,
        CommentKind::Pre,
        &format!(
            "try {{ // try from {first:08x} to {last:08x} has its CatchHandler @ {landing:08x}"
        ),
    );
    let unit = sink.program.listing.unit_containing(site.range.end);
    let end = unit.map_or(site.range.end, |(start, _)| start);
    let text = format!("}} // end try from {first:08x} to {last:08x}");
    sink.add_line(end, CommentKind::Post, &text);
    let caught: Vec<String> = site.catches.iter().map(describe).collect();
    let text = format!(
        "catch({}) {{ ... }} // from try @ {first:08x} with catch @ {landing:08x}",
        caught.join(", ")
    );
    sink.add_line(Address::ram(landing), CommentKind::Pre, &text);
}

fn describe(catch: &Catch) -> String {
    match catch.type_info {
        Some(at) if catch.filter != 0 => format!("type#{} @ {:08x}", catch.filter, at.offset),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::{BlockSource, DataOrganization, MemoryBlock, Permissions, ProgramInfo};

    const CODE: u64 = 0x1000;
    const FRAMES: u64 = 0x2000;
    const AREA: u64 = 0x3000;

    fn program(frames: &[u8], area: &[u8]) -> Program {
        let info = ProgramInfo {
            address_bits: 64,
            compiler_spec_id: "gcc".into(),
            ..ProgramInfo::default()
        };
        let mut program = Program::new(info, false, DataOrganization::default());
        for (name, start, bytes) in [
            (".text", CODE, vec![0x90; 0x100].as_slice()),
            (".eh_frame", FRAMES, frames),
            (".gcc_except_table", AREA, area),
        ] {
            let source = BlockSource::Bytes { bytes: bytes.into(), offset: 0, length: bytes.len() };
            let length = bytes.len() as u64;
            let mut block = MemoryBlock::new(name, Address::ram(start), length, source);
            block.permissions =
                Permissions { read: true, execute: name == ".text", ..block.permissions };
            program.memory.add_block(block).unwrap();
        }
        program
    }

    /// A common entry with a personality, one function at 0x1010 whose area is
    /// at [`AREA`], and the end.
    fn frames_of_one_function() -> Vec<u8> {
        let mut bytes = vec![0x18, 0, 0, 0, 0, 0, 0, 0, 1];
        bytes.extend(b"zPLR\0\x01\x78\x10\x07");
        bytes.extend([0x0b, 0, 0, 0, 0, 0x1b, 0x1b, 0, 0, 0]);
        assert_eq!(bytes.len(), 0x1c);
        bytes.extend([0x18, 0, 0, 0, 0x20, 0, 0, 0]);
        let here = FRAMES + bytes.len() as u64;
        bytes.extend(((CODE + 0x10).wrapping_sub(here) as u32).to_le_bytes());
        bytes.extend([0x20, 0, 0, 0, 4]);
        let here = FRAMES + bytes.len() as u64;
        bytes.extend((AREA.wrapping_sub(here) as u32).to_le_bytes());
        bytes.extend([0x41, 0x0e, 0x10, 0, 0, 0, 0]);
        bytes.extend([0; 4]);
        bytes
    }

    /// Two call sites; the first catches the one type of the table.
    fn area() -> Vec<u8> {
        let mut bytes = vec![0xff, 0x03, 0x11, 0x01, 0x08];
        bytes.extend([0x02, 0x05, 0x10, 0x01, 0x08, 0x04, 0x00, 0x00]);
        bytes.extend([0x01, 0x00, 0, 0x78, 0x56, 0x34, 0x12]);
        bytes
    }

    #[test]
    fn frames_tell_bodies_call_sites_and_what_they_catch() {
        let program = program(&frames_of_one_function(), &area());
        let frames = frames(&program);
        assert_eq!(frames.len(), 1);
        let start = Address::ram(CODE + 0x10);
        assert_eq!(frames[0].body, AddressRange::with_length(start, 0x20).unwrap());
        let sites = &frames[0].call_sites;
        assert_eq!(sites.len(), 2);
        assert_eq!(sites[0].landing_pad, Some(Address::ram(CODE + 0x20)));
        let catch = Catch { filter: 1, type_info: Some(Address::ram(0x1234_5678)) };
        assert_eq!(sites[0].catches, [catch]);
        assert_eq!(sites[1].landing_pad, None);
        assert_eq!(code_starts(&program), [vec![start], vec![Address::ram(CODE + 0x20)]]);
    }

    #[test]
    fn mark_up_names_every_part() {
        let mut program = program(&frames_of_one_function(), &area());
        mark_up(&mut program, &|| false);
        let comment = |at, kind| {
            program.comments.get(&(Address::ram(at), kind)).map_or(String::new(), |c| c.to_string())
        };
        assert_eq!(comment(FRAMES, CommentKind::Plate), "Common Information Entry");
        assert_eq!(comment(FRAMES + 0x1c, CommentKind::Eol), "(FDE) Length");
        assert_eq!(comment(AREA + 4, CommentKind::Eol), "(LSDA) Call Site Table Length");
        assert_eq!(
            comment(CODE + 0x12, CommentKind::Pre),
            "try { // try from 00001012 to 00001016 has its CatchHandler @ 00001020"
        );
        assert_eq!(
            comment(CODE + 0x20, CommentKind::Pre),
            "catch(type#1 @ 12345678) { ... } // from try @ 00001012 with catch @ 00001020"
        );
        assert_eq!(program.label_at(Address::ram(FRAMES)).as_deref(), Some("cie_00002000"));
    }

    /// Tables of large programs take a while: whoever ends the run is heard at the next entry.
    #[test]
    fn mark_up_ends_when_it_is_told_to() {
        let one = frames_of_one_function();
        let (common, function) = one[..one.len() - 4].split_at(0x1c);
        let many: Vec<u8> = common.iter().chain(function).copied().collect();
        let marked = |entries: usize, looks: usize| {
            let mut bytes = many.clone();
            for number in 1..entries as u32 {
                let at = bytes.len();
                bytes.extend(function);
                // Each entry tells how far back its common entry is.
                let back = 0x20 + number * function.len() as u32;
                bytes[at + 4..at + 8].copy_from_slice(&back.to_le_bytes());
            }
            let mut program = program(&bytes, &area());
            let left = std::cell::Cell::new(looks);
            mark_up(&mut program, &|| {
                left.set(left.get().saturating_sub(1));
                left.get() == 0
            });
            let text = "(FDE) Length";
            program.comments.values().filter(|comment| &***comment == text).count()
        };
        assert_eq!(marked(100, usize::MAX), 100);
        assert!(marked(100, 11) <= 11, "{}", marked(100, 11));
    }

    /// Every byte replaced by extreme values, and every length cut short: the
    /// readers may give up, but not fail, and never find code outside of memory.
    #[test]
    fn broken_tables_do_no_harm() {
        let (good_frames, good_area) = (frames_of_one_function(), area());
        for cut in 1..good_frames.len() {
            mark_up(&mut program(&good_frames[..cut], &good_area), &|| false);
        }
        for at in 0..good_frames.len() + good_area.len() {
            for value in [0x00, 0x01, 0x7f, 0x80, 0xff] {
                let (mut frames, mut area) = (good_frames.clone(), good_area.clone());
                match frames.get_mut(at) {
                    Some(byte) => *byte = value,
                    None => area[at - good_frames.len()] = value,
                }
                let mut program = program(&frames, &area);
                mark_up(&mut program, &|| false);
                let starts = code_starts(&program).concat();
                assert!(starts.iter().all(|s| program.memory.contains(*s)));
            }
        }
    }
}
