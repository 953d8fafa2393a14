//! Operations that SLEIGH names but does not define, as far as they are known here.

use decompiler::Opcode;

use crate::extended;
use crate::interpreter::Machine;
use crate::memory::Purpose;
use crate::operation::WideOperation;
use crate::outcome::Stop;

/// The number by which ARM's language means rounding toward zero.
const TOWARD_ZERO: u64 = 3;

/// What does nothing that a single thread of plain memory could see.
const IDLE: [&str; 34] = [
    "LOCK",
    "UNLOCK",
    "XACQUIRE",
    "XRELEASE",
    "clflush",
    "prefetch",
    "DataMemoryBarrier",
    "DataSynchronizationBarrier",
    "InstructionSynchronizationBarrier",
    "HintPreloadData",
    "HintPreloadDataForWrite",
    "HintPreloadInstruction",
    "HintYield",
    "Hint_Prefetch",
    "Hint_Yield",
    "setISAMode",
    "enableDataAbortInterrupts",
    "ClearExclusiveLocal",
    "ExclusiveAccess",
    "fence",
    "fence.i",
    "SYNC",
    "sync",
    "synch",
    "isync",
    "instructionSynchronize",
    "enforceInOrderExecutionIO",
    "dataCacheBlockTouch",
    "dataCacheBlockTouchForStore",
    "prefetch_w",
    "lfence",
    "mfence",
    "sfence",
    "fwait",
];

impl Machine<'_> {
    /// Runs an operation that the language leaves undefined.
    pub(crate) fn user_operation(&mut self, op: &WideOperation) -> Result<(), Stop> {
        let name = self.language.user_operations().get(op.number as usize);
        let name = name.cloned().unwrap_or_else(|| format!("#{}", op.number));
        let input = |machine: &Self, at: usize| {
            op.inputs.get(at).map_or(0, |cell| machine.cells.get_wide(*cell))
        };
        let value = match name.as_str() {
            idle if IDLE.contains(&idle) => None,
            // Nobody else takes the place in between.
            "hasExclusiveAccess" | "ExclusiveMonitorPass" | "ExclusiveMonitorsPass" => Some(1),
            "segment" => Some((input(self, 0) << 4).wrapping_add(input(self, 1))),
            "rdtsc" | "rdtscp" => Some(u128::from(self.instructions)),
            name if name.starts_with("coproc_movefrom_User_R_Thread_ID")
                || name.starts_with("coproc_movefrom_User_RW_Thread_ID") =>
            {
                Some(u128::from(self.memory.region(Purpose::Thread).map_or(0, |r| r.start)))
            }
            "VectorSignedToFloat"
            | "VectorUnsignedToFloat"
            | "VectorFloatToSigned"
            | "VectorFloatToUnsigned" => match self.conversion(&name, op) {
                Some(value) => Some(value),
                None => return Err(Stop::UserOperation { name }),
            },
            _ => match self.vector_operation(&name, op) {
                Some(value) => Some(value),
                None => return Err(Stop::UserOperation { name }),
            },
        };
        if let (Some(output), Some(value)) = (op.output, value) {
            self.cells.set_wide(output, value);
        }
        Ok(())
    }

    /// A conversion of ARM's between one integer and one floating point number, as far as it
    /// truncates or rounds to nearest.
    fn conversion(&self, name: &str, op: &WideOperation) -> Option<u128> {
        let (from, to) = (*op.inputs.first()?, op.output?);
        let rounding = op.inputs.get(1).map(|mode| self.cells.get(mode.offset, mode.size))?;
        let bits = self.cells.get_wide(from);
        let rules = self.rules.float;
        if from.size > 8 || to.size > 8 {
            return None;
        }
        match name {
            "VectorSignedToFloat" => {
                extended::operate(rules, Opcode::FloatInt2Float, &[(bits, from.size)], to.size)
            }
            "VectorUnsignedToFloat" => {
                extended::operate(rules, Opcode::FloatInt2Float, &[(bits, 16)], to.size)
            }
            _ if rounding != TOWARD_ZERO => None,
            _ => extended::operate(rules, Opcode::FloatTrunc, &[(bits, from.size)], to.size),
        }
    }

    /// Operations on several numbers in one register of at most 16 bytes.
    fn vector_operation(&self, name: &str, op: &WideOperation) -> Option<u128> {
        let output = op.output.filter(|output| output.size <= 16)?;
        let values: Vec<u128> = op.inputs.iter().map(|cell| self.cells.get_wide(*cell)).collect();
        let lanes = |width: u32, each: &dyn Fn(u64, u64) -> u64| {
            let (a, b) = (*values.first()?, values.get(1).copied().unwrap_or(0));
            let ones = u128::MAX >> (128 - 8 * width);
            let parts = (0..output.size / width).map(|lane| {
                let part = |value: u128| (value >> (8 * width * lane) & ones) as u64;
                (u128::from(each(part(a), part(b))) & ones) << (8 * width * lane)
            });
            Some(parts.fold(0, |all, part| all | part))
        };
        let signed =
            |value: u64, width: u32| ((value << (64 - 8 * width)) as i64) >> (64 - 8 * width);
        let equal = |a, b| if a == b { u64::MAX } else { 0 };
        let greater =
            |width: u32| move |a, b| if signed(a, width) > signed(b, width) { u64::MAX } else { 0 };
        match name {
            "pcmpeqb" => lanes(1, &equal),
            "pcmpeqw" => lanes(2, &equal),
            "pcmpeqd" => lanes(4, &equal),
            "pcmpgtb" => lanes(1, &greater(1)),
            "pcmpgtw" => lanes(2, &greater(2)),
            "pcmpgtd" => lanes(4, &greater(4)),
            "pminub" => lanes(1, &|a, b| a.min(b)),
            "pmaxub" => lanes(1, &|a, b| a.max(b)),
            "pmullw" => lanes(2, &|a, b| a.wrapping_mul(b)),
            "pavgb" => lanes(1, &|a, b| (a + b).div_ceil(2)),
            _ => None,
        }
    }
}
