//! Edits and the decompiler: what was told to an engine before an edit, and what was kept of its
//! answers, must never show after it; and nothing else may be done again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::decompiler::{Decompilation, Decompiler, Limits};
use engine::program::data_type::Field;
use engine::program::{
    Address, CommentKind, FlowOverride, LocalVariable, Program, SourceType, Storage, SymbolKind,
};
use engine::{AnalysisKind, OpenOptions, Session};

fn analysed(name: &str) -> Session {
    let session = Session::open(&testkit::fixture(name), &OpenOptions::default()).expect(name);
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(120)));
    session
}

fn entry(program: &Program, name: &str) -> Address {
    let in_code = |at: Address| {
        let block = program.memory.block_at(at);
        block.is_some_and(|block| block.permissions.execute && !block.permissions.artificial)
    };
    let mut named = program.functions.iter().filter(|f| f.thunk_of.is_none() && in_code(f.entry));
    let found = named.find(|f| program.function_name(f.entry) == name);
    found.unwrap_or_else(|| panic!("no function {name}")).entry
}

fn entries(program: &Program) -> Vec<Address> {
    let own = program.functions.iter().filter(|function| {
        let block = program.memory.block_at(function.entry);
        block.is_some_and(|block| block.permissions.execute && !block.permissions.artificial)
    });
    own.map(|function| function.entry).collect()
}

fn decompiled(session: &Session, program: &Program, at: Address) -> Decompilation {
    let never = Arc::new(AtomicBool::new(false));
    session.decompile(program, at, &Limits::default(), &never)
}

/// Decompiles everything; the functions for which kept answers did not do.
fn done_again(session: &Session) -> BTreeSet<String> {
    let program = session.snapshot();
    let mut again = BTreeSet::new();
    for at in entries(&program) {
        let before = session.decompilations();
        decompiled(session, &program, at);
        if session.decompilations() > before {
            again.insert(program.function_name(at));
        }
    }
    again
}

fn write(session: &Session, edit: impl FnOnce(&mut Program)) {
    let done = session.write(|program| {
        edit(program);
        Ok::<(), ()>(())
    });
    done.expect("no analysis runs");
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn only_what_an_edit_concerns_is_decompiled_again() {
    let session = analysed("inventory.x64.O2");
    let all = done_again(&session);
    assert_eq!(all.len(), entries(&session.snapshot()).len());
    assert_eq!(done_again(&session), set(&[]), "nothing changed");
    let at = |name: &str| entry(&session.snapshot(), name);

    let depth = at("depth_of");
    write(&session, |program| {
        program.comments.insert((depth, CommentKind::Plate), "recursive".into());
    });
    assert_eq!(done_again(&session), set(&["depth_of"]), "a comment");

    write(&session, |program| {
        let long = program.types.builtin("long");
        let local = LocalVariable {
            name: "spare".into(),
            data_type: long,
            storage: Storage::at(Address::stack(-0x400), 8),
            first_use: 0,
            hash: 0,
            source: SourceType::UserDefined,
            type_locked: true,
            id: 77,
        };
        program.put_local(depth, local).expect("nothing is there");
    });
    assert_eq!(done_again(&session), set(&["depth_of"]), "a local variable");

    write(&session, |program| {
        program.rename_function(depth, "levels");
    });
    assert_eq!(done_again(&session), set(&["levels", "main"]), "a function's name");

    let weight = at("weight_of");
    write(&session, |program| {
        program.functions.edit(weight, |f| f.no_return = true).then_some(()).unwrap()
    });
    assert_eq!(
        done_again(&session),
        set(&["weight_of", "add_item", "by_weight"]),
        "whether a function returns"
    );

    let program = session.snapshot();
    let used = program.symbols.named("shelf_used").next().expect("is a global").1.address;
    write(&session, |program| {
        program.name_place(used, "items_on_shelf");
    });
    let readers = done_again(&session);
    assert_eq!(readers, set(&["add_item", "main", "print_shelf"]), "a global variable's name");

    let wanted = b"inventory: %s";
    let rodata = program.memory.block_named(".rodata").expect("has texts").range();
    let text = (0..rodata.len()).map(|n| rodata.start.wrapping_add(n)).find(|at| {
        let mut bytes = [0; 13];
        program.memory.read(*at, &mut bytes) == Ok(13) && bytes == *wanted
    });
    let text = text.expect("the text is there");
    write(&session, |program| program.memory.write(text, b"I").expect("is data"));
    assert_eq!(done_again(&session), set(&["give_up"]), "a byte of a text");
    let shown = decompiled(&session, &session.snapshot(), at("give_up")).c;
    assert!(shown.contains("Inventory: %s"), "{shown}");

    write(&session, |program| {
        program.types.add_struct("/", "unrelated", 4, Vec::new());
        let label = program.add_label(
            used.wrapping_add(0x2000),
            "nowhere",
            engine::program::SymbolId::GLOBAL,
            SourceType::UserDefined,
        );
        program.symbols.edit(label, |symbol| symbol.pinned = true);
    });
    assert_eq!(done_again(&session), set(&[]), "what no function refers to");
}

#[test]
fn a_dropped_edit_does_not_show() {
    let session = analysed("inventory.x64.O2");
    let program = session.snapshot();
    let main = entry(&program, "main");
    let before = decompiled(&session, &program, main).c;
    let refused: Result<(), _> = session.write(|program| {
        program.rename_function(main, "start");
        assert!(decompiled(&session, program, main).c.contains("start("));
        Err(())
    });
    assert!(refused.is_err());
    assert_eq!(decompiled(&session, &session.snapshot(), main).c, before);
}

/// A small generator: the same edits in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.roll(all.len())]
    }
}

const TYPES: &[&str] =
    &["int", "uint", "long", "char", "undefined4", "undefined8", "byte", "float"];

fn edit_at_random(program: &mut Program, session: &Session, dice: &mut Dice, step: usize) {
    let functions = entries(program);
    let function = dice.pick(&functions);
    let data: Vec<Address> = program
        .listing
        .data
        .keys()
        .copied()
        .filter(|at| {
            let block = program.memory.block_at(*at);
            block.is_some_and(|b| [".data", ".bss", ".rodata"].contains(&&*b.name))
        })
        .collect();
    let place = dice.pick(&data);
    let type_name = dice.pick(TYPES);
    let data_type = program.types.builtin(type_name);
    match dice.roll(14) {
        0 => {
            program.rename_function(function, &format!("f{step}"));
        }
        1 => {
            program.name_place(place, &format!("g{step}"));
        }
        2 => {
            let _ = program.define_over(place, data_type, true);
        }
        3 => {
            program.clear_data(place);
        }
        4 => {
            let _ = program.memory.write(place, &[step as u8, 0x41]);
        }
        5 => {
            program.comments.insert((function, CommentKind::Pre), format!("note {step}").into());
        }
        6 => {
            let returns = dice.roll(2) == 0;
            let callee = program.thunked(function).map_or(function, |f| f.entry);
            program.set_no_return(callee, !returns);
        }
        7 => {
            let pointer = program.types.pointer_to(data_type);
            program.functions.edit(function, |f| {
                f.signature.return_type = if step.is_multiple_of(2) { data_type } else { pointer };
                f.signature.source = SourceType::UserDefined;
            });
            let _ = session.lay_out_signature(program, function);
        }
        8 => {
            program.remove_function(function);
        }
        9 => {
            let gone: Vec<Address> = session_entries(session)
                .into_iter()
                .filter(|at| program.functions.at(*at).is_none())
                .collect();
            if let Some(at) = gone.first() {
                let mode = program.mode_at(*at);
                engine::make_function(program, session.language(), *at, mode, None).unwrap();
            }
        }
        10 => {
            let calls: Vec<Address> = program
                .listing
                .instructions
                .iter()
                .filter(|(_, i)| i.flow.is_call())
                .map(|(at, _)| *at)
                .collect();
            let change = dice.pick(&[FlowOverride::None, FlowOverride::CallReturn]);
            program.set_flow_override(dice.pick(&calls), change);
        }
        11 => {
            let labels: Vec<_> = program
                .symbols
                .iter()
                .filter(|(_, s)| s.kind == SymbolKind::Label && s.is_in_memory() && s.primary)
                .map(|(id, s)| (id, s.address))
                .collect();
            let (id, at) = dice.pick(&labels);
            if step.is_multiple_of(3) {
                program.remove_label(at);
            } else {
                program.symbols.edit(id, |symbol| symbol.name = format!("l{step}").into());
            }
        }
        12 => restructure(program, place, data_type, step),
        _ => {
            let found = session.decompile_now(program, function);
            let Some(variable) = found.locals.iter().find(|v| v.is_findable()) else { return };
            let data_type = variable.type_of.intern(&mut program.types);
            let local = LocalVariable {
                name: format!("v{step}").into(),
                data_type,
                storage: variable.storage.clone(),
                first_use: variable.first_use_offset(function),
                hash: variable.hash,
                source: SourceType::UserDefined,
                type_locked: step.is_multiple_of(2),
                id: variable.local_id(program.functions.at(function).unwrap()),
            };
            let _ = program.put_local(function, local);
        }
    }
}

/// Gives a structure that a variable is of another content.
fn restructure(
    program: &mut Program,
    place: Address,
    data_type: engine::program::TypeId,
    step: usize,
) {
    let length = program.types.length(data_type).unwrap_or(1);
    let field = |name: &str, offset: u32| Field {
        offset,
        data_type,
        length,
        name: name.into(),
        comment: "".into(),
        bits: None,
    };
    let fields = vec![field("first", 0), field(&format!("m{step}"), length)];
    let known = program.types.at_path("/pair");
    let id = known.unwrap_or_else(|| program.types.add_struct("/", "pair", 2 * length, Vec::new()));
    let mut content = program.types.get(id).map(|t| engine::program::DataType::clone(t)).unwrap();
    content.kind = engine::program::TypeKind::Struct { fields, packed: false };
    content.length = Some(2 * length);
    assert!(program.types.replace(id, content));
    let _ = program.define_over(place, id, true);
}

fn session_entries(session: &Session) -> Vec<Address> {
    let program = session.snapshot();
    let starts = program.symbols.iter().filter(|(_, s)| {
        let block = program.memory.block_at(s.address);
        s.is_in_memory() && block.is_some_and(|b| &*b.name == ".text")
    });
    starts.map(|(_, s)| s.address).collect()
}

/// After each of many edits, answers must be those of a decompiler that saw nothing before.
fn nothing_stale_shows(name: &str, seed: u64, steps: usize) {
    let session = analysed(name);
    let mut dice = Dice(seed);
    let (mut kept, mut asked) = (0, 0);
    for step in 0..steps {
        write(&session, |program| edit_at_random(program, &session, &mut dice, step));
        let program = session.snapshot();
        let fresh = Decompiler::new();
        let never = Arc::new(AtomicBool::new(false));
        for at in entries(&program) {
            let before = session.decompilations();
            let ours = decompiled(&session, &program, at);
            asked += 1;
            kept += u64::from(session.decompilations() == before);
            let theirs = fresh.decompile(&program, at, &Limits::default(), &never);
            assert_eq!(
                (&ours.c, &ours.locals, &ours.parameters, &ours.warnings),
                (&theirs.c, &theirs.locals, &theirs.parameters, &theirs.warnings),
                "{name} after step {step}: {at:?} kept {}",
                session.decompilations() == before
            );
        }
    }
    println!("{name}: {kept} of {asked} answers were kept ones");
    assert!(kept * 2 > asked, "{name}: {kept} of {asked} answers were kept ones");
}

#[test]
fn nothing_stale_shows_after_edits_of_an_x64_program() {
    nothing_stale_shows("inventory.x64.O2", 1, 60);
}

#[test]
fn nothing_stale_shows_after_edits_of_an_aarch64_program() {
    nothing_stale_shows("inventory.aarch64.O0", 2, 40);
}

/// Further lines of a comment stand below the first one's words, as they do in Ghidra.
#[test]
fn further_lines_of_comments_are_aligned() {
    let session = analysed("inventory.x64.O2");
    let depth = entry(&session.snapshot(), "depth_of");
    write(&session, |program| {
        program.comments.insert((depth, CommentKind::Plate), "first\nsecond".into());
    });
    let text = decompiled(&session, &session.snapshot(), depth).c;
    assert!(text.contains("/* first\n   second */"), "{text}");
}
