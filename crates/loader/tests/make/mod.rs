//! Makes small ELF and PE files, right ones and wrong ones.

#![allow(dead_code, reason = "each test file uses its own part")]

/// A section to be written.
#[derive(Clone, Default)]
pub struct Section {
    pub name: &'static str,
    pub kind: u32,
    pub flags: u64,
    pub address: u64,
    pub data: Vec<u8>,
    /// Size to claim instead of the data's.
    pub size: Option<u64>,
    pub link: u32,
    pub info: u32,
    pub entry_size: u64,
    pub align: u64,
}

/// A segment over a part of the file.
#[derive(Clone, Copy, Default)]
pub struct Segment {
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub address: u64,
    pub file_size: u64,
    pub memory_size: u64,
}

/// An ELF file in the making: header, program headers, `body`, section data,
/// section headers.
#[derive(Clone, Default)]
pub struct Elf {
    pub wide: bool,
    pub big: bool,
    pub kind: u16,
    pub machine: u16,
    pub entry: u64,
    pub flags: u32,
    pub segments: Vec<Segment>,
    pub body: Vec<u8>,
    pub sections: Vec<Section>,
}

impl Elf {
    pub fn new(wide: bool, kind: u16, machine: u16) -> Elf {
        Elf { wide, kind, machine, ..Elf::default() }
    }

    fn half(&self, out: &mut Vec<u8>, value: u16) {
        out.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    pub fn word(&self, out: &mut Vec<u8>, value: u32) {
        out.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    pub fn long(&self, out: &mut Vec<u8>, value: u64) {
        if self.wide {
            out.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
        } else {
            self.word(out, value as u32);
        }
    }

    pub fn header_size(&self) -> usize {
        if self.wide { 64 } else { 52 }
    }

    /// Where `body` will be.
    pub fn body_offset(&self) -> u64 {
        let entry = if self.wide { 56 } else { 32 };
        (self.header_size() + entry * self.segments.len()) as u64
    }

    /// Bytes of a symbol: name offset, value, size, info, section.
    pub fn symbol(&self, name: u32, value: u64, size: u64, info: u8, section: u16) -> Vec<u8> {
        let mut out = Vec::new();
        self.word(&mut out, name);
        if self.wide {
            out.extend([info, 0]);
            self.half(&mut out, section);
            self.long(&mut out, value);
            self.long(&mut out, size);
        } else {
            self.long(&mut out, value);
            self.long(&mut out, size);
            out.extend([info, 0]);
            self.half(&mut out, section);
        }
        out
    }

    /// Bytes of a relocation, with an addend if one is given.
    pub fn reloc(&self, offset: u64, symbol: u32, kind: u32, addend: Option<i64>) -> Vec<u8> {
        let mut out = Vec::new();
        self.long(&mut out, offset);
        let info = if self.wide {
            u64::from(symbol) << 32 | u64::from(kind)
        } else {
            u64::from(symbol << 8 | kind & 0xff)
        };
        self.long(&mut out, info);
        if let Some(addend) = addend {
            self.long(&mut out, addend as u64);
        }
        out
    }

    pub fn build(&self) -> Vec<u8> {
        let mut names = vec![0u8];
        let mut placed = vec![(0u32, 0u64)];
        let mut data = Vec::new();
        let base = self.body_offset() + self.body.len() as u64;
        for section in &self.sections {
            placed.push((names.len() as u32, base + data.len() as u64));
            names.extend(section.name.bytes().chain([0]));
            data.extend(&section.data);
            while data.len() % 8 != 0 {
                data.push(0);
            }
        }
        let names_at = base + data.len() as u64;
        data.extend(&names);
        let table = base + data.len() as u64;
        let count = if self.sections.is_empty() { 0 } else { self.sections.len() + 2 };
        let mut out =
            vec![0x7f, b'E', b'L', b'F', 1 + u8::from(self.wide), 1 + u8::from(self.big), 1];
        out.resize(16, 0);
        self.half(&mut out, self.kind);
        self.half(&mut out, self.machine);
        self.word(&mut out, 1);
        self.long(&mut out, self.entry);
        self.long(&mut out, self.header_size() as u64);
        self.long(&mut out, if count == 0 { 0 } else { table });
        self.word(&mut out, self.flags);
        self.half(&mut out, self.header_size() as u16);
        self.half(&mut out, if self.wide { 56 } else { 32 });
        self.half(&mut out, self.segments.len() as u16);
        self.half(&mut out, if self.wide { 64 } else { 40 });
        self.half(&mut out, count as u16);
        self.half(&mut out, count.saturating_sub(1) as u16);
        self.segments.iter().for_each(|s| self.segment(&mut out, s));
        out.extend(&self.body);
        if count > 0 {
            out.extend(&data);
            self.section(&mut out, &Section::default(), 0, 0);
            for (section, (name, offset)) in self.sections.iter().zip(&placed[1..]) {
                self.section(&mut out, section, *name, *offset);
            }
            let strings = Section { kind: 3, size: Some(names.len() as u64), ..Section::default() };
            self.section(&mut out, &strings, 0, names_at);
        }
        out
    }

    fn segment(&self, out: &mut Vec<u8>, s: &Segment) {
        self.word(out, s.kind);
        if self.wide {
            self.word(out, s.flags);
        }
        for value in [s.offset, s.address, s.address, s.file_size, s.memory_size] {
            self.long(out, value);
        }
        if !self.wide {
            self.word(out, s.flags);
        }
        self.long(out, 0x1000);
    }

    fn section(&self, out: &mut Vec<u8>, s: &Section, name: u32, offset: u64) {
        self.word(out, name);
        self.word(out, s.kind);
        self.long(out, s.flags);
        self.long(out, s.address);
        self.long(out, offset);
        self.long(out, s.size.unwrap_or(s.data.len() as u64));
        self.word(out, s.link);
        self.word(out, s.info);
        self.long(out, s.align);
        self.long(out, s.entry_size);
    }
}

/// A PE32+ file with sections of (name, address, virtual size, raw size, data).
pub struct Pe {
    pub file_alignment: u32,
    pub directories: Vec<(usize, u32, u32)>,
    pub sections: Vec<(&'static str, u32, u32, u32, Vec<u8>)>,
}

impl Pe {
    pub fn build(&self) -> Vec<u8> {
        let mut out = b"MZ".to_vec();
        out.resize(60, 0);
        out.extend(64u32.to_le_bytes());
        out.extend(b"PE\0\0");
        out.extend(0x8664u16.to_le_bytes());
        out.extend((self.sections.len() as u16).to_le_bytes());
        out.extend([0; 12]);
        out.extend(240u16.to_le_bytes());
        out.extend(0x22u16.to_le_bytes());
        let optional = out.len();
        out.extend(0x20bu16.to_le_bytes());
        out.resize(optional + 16, 0);
        out.extend(0x1000u32.to_le_bytes());
        out.resize(optional + 24, 0);
        out.extend(0x1_4000_0000u64.to_le_bytes());
        out.extend(0x1000u32.to_le_bytes());
        out.extend(self.file_alignment.to_le_bytes());
        out.resize(optional + 60, 0);
        out.extend(0x400u32.to_le_bytes());
        out.resize(optional + 108, 0);
        out.extend(16u32.to_le_bytes());
        let directories = out.len();
        out.resize(optional + 240, 0);
        for (index, address, size) in &self.directories {
            let at = directories + 8 * index;
            out[at..at + 4].copy_from_slice(&address.to_le_bytes());
            out[at + 4..at + 8].copy_from_slice(&size.to_le_bytes());
        }
        let mut raw_at = 0x400u32;
        for (name, address, virtual_size, raw_size, data) in &self.sections {
            let mut short = name.as_bytes().to_vec();
            short.resize(8, 0);
            out.extend(short);
            for value in [*virtual_size, *address, *raw_size, raw_at] {
                out.extend(value.to_le_bytes());
            }
            out.extend([0; 12]);
            out.extend(0x6000_0020u32.to_le_bytes());
            raw_at += data.len() as u32;
        }
        out.resize(0x400, 0);
        self.sections.iter().for_each(|s| out.extend(&s.4));
        out
    }
}
