//! Decoding against what Ghidra says of every instruction of the sample programs.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use decompiler::{Context, ContextChange, Decoder, Language, Opcode, PcodeOp, VarSpace, Varnode};
use program::FlowType;

/// One instruction of a listing dump.
struct Line {
    offset: u64,
    bytes: Vec<u8>,
    text: String,
    flow: String,
    overridden: bool,
    pcode: Vec<String>,
}

fn truth() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ghidra-truth");
    let place = std::env::var_os("GHIDRA_TRUTH").map_or(beside, PathBuf::from);
    if place.is_dir() {
        return Some(place);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", place.display());
    println!("skipped: {} is missing", place.display());
    None
}

fn read(path: &Path) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    xz2::read::XzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

fn samples(truth: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(truth.join("dumps"))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".listing.txt.xz").map(str::to_string))
        .collect();
    names.sort();
    names
}

fn listing(truth: &Path, sample: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut kept = false;
    for line in read(&truth.join(format!("dumps/{sample}.listing.txt.xz"))).lines() {
        if let Some(op) = line.strip_prefix('\t') {
            if let Some(last) = lines.last_mut().filter(|_| kept) {
                last.pcode.push(op.to_string());
            }
            continue;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        // Overlays and external blocks are not code.
        let offset = u64::from_str_radix(fields[0].strip_prefix("ram:").unwrap_or(fields[0]), 16);
        kept = offset.is_ok();
        let Ok(offset) = offset else { continue };
        let bytes = (0..fields[1].len()).step_by(2);
        lines.push(Line {
            offset,
            bytes: bytes
                .map(|at| u8::from_str_radix(&fields[1][at..at + 2], 16).unwrap())
                .collect(),
            text: fields[2].to_string(),
            flow: fields[4].to_string(),
            overridden: fields.len() > 5 && !fields[5].is_empty(),
            pcode: Vec::new(),
        });
    }
    lines
}

fn language(sample: &str) -> Language {
    let (language, compiler) = match sample.split('.').nth(1).unwrap() {
        "x64" => ("x86:LE:64:default", "gcc"),
        "x86" => ("x86:LE:32:default", "gcc"),
        "win64" => ("x86:LE:64:default", "windows"),
        "win32" => ("x86:LE:32:default", "windows"),
        "aarch64" => ("AARCH64:LE:64:v8A", "default"),
        "arm" => ("ARM:LE:32:v8", "default"),
        "riscv64" => ("RISCV:LE:64:default", "gcc"),
        "mips" => ("MIPS:BE:32:default", "default"),
        other => panic!("no language for {other}"),
    };
    Language::open(language, compiler).unwrap()
}

/// The bytes from each instruction on, as far as the listing is gapless.
fn following(lines: &[Line], index: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut next = lines[index].offset;
    for line in lines[index..].iter().take(4).take_while(|line| {
        let gapless = line.offset == next;
        next = line.offset + line.bytes.len() as u64;
        gapless
    }) {
        bytes.extend_from_slice(&line.bytes);
    }
    bytes
}

/// The context of each instruction in the order of addresses: a stand-in for flow analysis.
struct Contexts {
    language: Language,
    thumb: bool,
    pending: BTreeMap<u64, Vec<ContextChange>>,
}

impl Contexts {
    fn at(&mut self, offset: u64) -> Context {
        let mut context = self.language.default_context();
        if self.thumb {
            context = self.language.with_context(context, "TMode", 1);
        }
        for change in self.pending.remove(&offset).unwrap_or_default() {
            if !change.flows {
                context = context.with(&change);
            }
        }
        context
    }

    fn note(&mut self, changes: &[ContextChange]) {
        for change in changes {
            self.pending.entry(change.offset).or_default().push(*change);
        }
    }
}

#[derive(Default)]
struct Score {
    instructions: usize,
    text: usize,
    flow: usize,
    length: usize,
    pcode: usize,
    pcode_checked: usize,
    shown: usize,
}

impl Score {
    fn complain(&mut self, sample: &str, line: &Line, what: &str, got: &str) {
        self.shown += 1;
        if self.shown <= 8 {
            println!(
                "{sample} {:x} {what}: want `{}` {} got `{got}`",
                line.offset, line.text, line.flow
            );
        }
    }
}

fn expected_flow(line: &Line) -> &str {
    match (line.overridden, line.flow.as_str()) {
        (true, "CALL_TERMINATOR") => "UNCONDITIONAL_CALL UNCONDITIONAL_JUMP CONDITIONAL_JUMP",
        (true, "COMPUTED_CALL_TERMINATOR") => "COMPUTED_CALL COMPUTED_JUMP",
        (_, flow) => flow,
    }
}

fn check(sample: &str, lines: &[Line], total: &mut Score) {
    let language = language(sample);
    let mut decoder = Decoder::new(&language);
    let mut contexts = Contexts {
        thumb: language.has_context("TMode"),
        language: language.clone(),
        pending: BTreeMap::new(),
    };
    let mut score = Score::default();
    let mut slot_until = 0;
    let mut previous_falls = false;
    let mut previous_end = 0;
    for (index, line) in lines.iter().enumerate() {
        let bytes = following(lines, index);
        let mut context = contexts.at(line.offset);
        let mut decoded = decoder.decode(&bytes, line.offset, context);
        if language.has_context("TMode") && !(previous_falls && line.offset == previous_end) {
            // A new run may be in the other mode; only the bytes' owner knows.
            let text = decoder.listing(&bytes, line.offset, context).map(|text| text.to_string());
            if text.ok().as_deref() != Some(&line.text) {
                contexts.thumb = !contexts.thumb;
                context = contexts.at(line.offset);
                decoded = decoder.decode(&bytes, line.offset, context);
            }
        }
        score.instructions += 1;
        let mode = language.context_mode(context).expect("instructions stand in known contexts");
        let context = language.mode_context(mode);
        let Ok(decoded) = decoded else {
            score.complain(sample, line, "decode", "nothing");
            continue;
        };
        contexts.note(&decoded.context_changes);
        previous_falls = decoded.flow.has_fall_through();
        previous_end = line.offset + line.bytes.len() as u64;
        score.length += usize::from(usize::from(decoded.length) == line.bytes.len());
        let in_slot = line.offset < slot_until;
        if decoded.delay_slots > 0 {
            slot_until = line.offset + u64::from(decoded.length) + u64::from(decoded.delay_bytes);
        }
        if expected_flow(line).split(' ').any(|flow| flow == decoded.flow.name()) {
            score.flow += 1;
        } else {
            score.complain(sample, line, "flow", decoded.flow.name());
        }
        let text = if in_slot {
            decoder.delay_slot_listing(&bytes, line.offset, context)
        } else {
            decoder.listing(&bytes, line.offset, context)
        };
        let text = text.unwrap().to_string();
        if text == line.text {
            score.text += 1;
        } else {
            score.complain(sample, line, "text", &text);
        }
        if !line.pcode.is_empty() {
            score.pcode_checked += 1;
            let mut ops = Vec::new();
            decoder.pcode(&bytes, line.offset, context, &mut ops).unwrap();
            let got = same_temporaries(ops.iter().map(show).collect());
            let want = same_temporaries(line.pcode.iter().map(|op| normal(op)).collect());
            if got == want {
                score.pcode += 1;
            } else {
                let differs = got.iter().zip(&want).find(|(got, want)| got != want);
                score.complain(
                    sample,
                    line,
                    "p-code",
                    &format!("{differs:?} {}/{}", got.len(), want.len()),
                );
            }
        }
    }
    println!(
        "{sample}: {} instructions, text {}, flow {}, length {}, p-code {}/{}",
        score.instructions, score.text, score.flow, score.length, score.pcode, score.pcode_checked
    );
    total.instructions += score.instructions;
    total.text += score.text;
    total.flow += score.flow;
    total.length += score.length;
    total.pcode += score.pcode;
    total.pcode_checked += score.pcode_checked;
}

/// A p-code line without what names spaces by number: that number is Ghidra's own.
fn normal(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    let memory = words.iter().position(|word| matches!(*word, "LOAD" | "STORE"));
    if let Some(space) = memory.and_then(|at| words.get_mut(at + 1)) {
        *space = "space";
    }
    words.join(" ")
}

/// The operations with temporaries numbered as they come: their offsets belong to one build of
/// the language's tables.
fn same_temporaries(ops: Vec<String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    let rename = |word: &str| {
        let Some(rest) = word.strip_prefix("(unique,") else { return word.to_string() };
        let (offset, size) = rest.split_once(',').unwrap();
        let number = seen.iter().position(|known| known == offset).unwrap_or_else(|| {
            seen.push(offset.to_string());
            seen.len() - 1
        });
        format!("(unique,{number},{size}")
    };
    let mut rename = rename;
    ops.iter().map(|op| op.split(' ').map(&mut rename).collect::<Vec<_>>().join(" ")).collect()
}

fn show_varnode(varnode: &Varnode) -> String {
    let space = match varnode.space {
        VarSpace::Const => "const",
        VarSpace::Register => "register",
        VarSpace::Unique => "unique",
        VarSpace::Ram => "ram",
        VarSpace::Other(_) => "csreg",
    };
    format!("({space},0x{:x},{})", varnode.offset, varnode.size)
}

fn show(op: &PcodeOp) -> String {
    let mut words = Vec::new();
    if let Some(output) = &op.output {
        words.push(show_varnode(output));
        words.push("=".to_string());
    }
    words.push(op.opcode.name().to_string());
    for (index, input) in op.inputs.iter().enumerate() {
        let names_space = index == 0 && matches!(op.opcode, Opcode::Load | Opcode::Store);
        words.push(if names_space { "space".to_string() } else { show_varnode(input) });
    }
    words.join(" ")
}

#[test]
fn every_sample_instruction_decodes_as_ghidra_decodes_it() {
    let Some(truth) = truth() else { return };
    let mut total = Score::default();
    for sample in samples(&truth) {
        check(&sample, &listing(&truth, &sample), &mut total);
    }
    let share = |part: usize, whole: usize| part as f64 / whole as f64;
    println!(
        "total: {} instructions, text {:.5}, flow {:.5}, length {:.5}, p-code {:.5}",
        total.instructions,
        share(total.text, total.instructions),
        share(total.flow, total.instructions),
        share(total.length, total.instructions),
        share(total.pcode, total.pcode_checked)
    );
    assert!(share(total.text, total.instructions) >= 0.999);
    assert!(share(total.flow, total.instructions) >= 0.9999);
    assert_eq!(total.length, total.instructions);
    assert!(share(total.pcode, total.pcode_checked) >= 0.99);
}

#[test]
fn flow_tells_targets_and_fall_through() {
    let language = Language::open("x86:LE:64:default", "gcc").unwrap();
    let mut decoder = Decoder::new(&language);
    let context = language.default_context();
    let call = decoder.decode(&[0xe8, 0x0b, 0, 0, 0], 0x1000, context).unwrap();
    assert_eq!(call.flow, FlowType::UnconditionalCall);
    assert_eq!(call.flow_targets.as_slice(), [0x1010]);
    assert_eq!(call.fall_through, Some(0x1005));
    let jump = decoder.decode(&[0xeb, 0xfe], 0x1000, context).unwrap();
    assert_eq!(jump.flow, FlowType::UnconditionalJump);
    assert_eq!((jump.flow_targets.as_slice(), jump.fall_through), ([0x1000].as_slice(), None));
    let ret = decoder.decode(&[0xc3], 0x1000, context).unwrap();
    assert_eq!((ret.flow, ret.length), (FlowType::Terminator, 1));
}

#[test]
fn no_bytes_make_decoding_panic() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for (id, compiler) in [
        ("x86:LE:64:default", "gcc"),
        ("ARM:LE:32:v8", "default"),
        ("MIPS:BE:32:default", "default"),
        ("AARCH64:LE:64:v8A", "default"),
        ("PowerPC:BE:32:default", "default"),
        ("RISCV:LE:64:default", "gcc"),
    ] {
        let language = Language::open(id, compiler).unwrap();
        let mut decoder = Decoder::new(&language);
        let mut ops = Vec::new();
        for round in 0..3000_u64 {
            let mut bytes = [0; 16];
            for byte in &mut bytes {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                *byte = (seed >> 56) as u8;
            }
            let offset = (seed >> 8) & !3;
            let bytes = &bytes[..1 + (round as usize % 16)];
            let context =
                language.with_context(language.default_context(), "TMode", (round & 1) as u32);
            ops.clear();
            let decoded = decoder.decode(bytes, offset, context);
            let listing = decoder.listing(bytes, offset, context);
            assert_eq!(decoded.is_ok(), listing.is_ok());
            let _ = decoder.pcode(bytes, offset, context, &mut ops);
            if let Ok(decoded) = decoded {
                assert!(decoded.length > 0 && usize::from(decoded.length) <= bytes.len());
            }
        }
    }
}

#[test]
fn languages_describe_themselves() {
    let language = Language::open("x86:LE:64:default", "gcc").unwrap();
    assert_eq!(language.processor(), "x86");
    assert_eq!((language.pointer_size(), language.address_bits()), (8, 64));
    let rsp = language.register("RSP").unwrap();
    assert_eq!((rsp.offset, rsp.size), (0x20, 8));
    assert_eq!(language.register_name(0x20, 8), Some("RSP"));
    assert_eq!(language.stack_pointer(), Some(rsp));
    assert_eq!(language.program_counter(), language.register("RIP"));
    assert_eq!(language.default_convention(), Some("__stdcall"));
    let mut conventions = language.calling_conventions().to_vec();
    conventions.sort();
    println!("{conventions:?}");
    assert!(conventions.contains(&"MSABI".to_string()));
    assert!(conventions.contains(&"__rustcall".to_string()));
    assert!(!language.has_context("TMode"));
    assert!(Language::open("ARM:LE:32:v8", "default").unwrap().has_context("TMode"));
    assert!(Language::open("z80", "default").is_err());
    assert!(Language::open("x86:LE:64:default", "nothing").is_err());
}
