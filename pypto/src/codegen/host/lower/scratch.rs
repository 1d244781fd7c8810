//! Slots: static pieces of a call's scratch memory, reused as soon as no value needs them.
//!
//! A slot lives while values or loops hold it. Lowering emits code in program order, so a slot that is free at some point of the emission
//! is free at that point of every execution; a slot taken inside a loop body is released before the body ends.

/// Alignment of every slot in bytes: one cache line, and the widest vector.
const ALIGN: i64 = 64;

/// A slot: an index into the table of [`Slots`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SlotId(usize);

#[derive(Debug)]
struct Slot {
    offset: i64,
    bytes: i64,
    holders: usize,
}

/// The allocator.
#[derive(Debug, Default)]
pub(super) struct Slots {
    table: Vec<Slot>,
    /// Free ranges `(offset, bytes)`, by offset, never adjacent.
    free: Vec<(i64, i64)>,
    high_water: i64,
}

impl Slots {
    /// Takes a slot of at least `bytes`, held once.
    pub fn take(&mut self, bytes: i64) -> SlotId {
        let bytes = (bytes.max(1) + ALIGN - 1) / ALIGN * ALIGN;
        let offset = match self.free.iter().position(|&(_, size)| size >= bytes) {
            Some(i) => {
                let (offset, size) = self.free[i];
                if size == bytes {
                    self.free.remove(i);
                } else {
                    self.free[i] = (offset + bytes, size - bytes);
                }
                offset
            }
            None => {
                let offset = self.high_water;
                self.high_water += bytes;
                offset
            }
        };
        self.table.push(Slot { offset, bytes, holders: 1 });
        SlotId(self.table.len() - 1)
    }

    /// Where the slot starts.
    pub fn offset(&self, slot: SlotId) -> i64 {
        self.table[slot.0].offset
    }

    /// One more holder.
    pub fn hold(&mut self, slot: SlotId) {
        self.table[slot.0].holders += 1;
    }

    /// Number of holders.
    pub fn holders(&self, slot: SlotId) -> usize {
        self.table[slot.0].holders
    }

    /// One holder less; the last one frees the memory.
    pub fn release(&mut self, slot: SlotId) {
        let entry = &mut self.table[slot.0];
        entry.holders = entry.holders.saturating_sub(1);
        if entry.holders > 0 {
            return;
        }
        let range = (entry.offset, entry.bytes);
        let at = self.free.partition_point(|&(offset, _)| offset < range.0);
        self.free.insert(at, range);
        self.merge(at);
    }

    /// Joins the free range `at` with its neighbours.
    fn merge(&mut self, at: usize) {
        if at + 1 < self.free.len() && self.free[at].0 + self.free[at].1 == self.free[at + 1].0 {
            self.free[at].1 += self.free[at + 1].1;
            self.free.remove(at + 1);
        }
        if at > 0 && self.free[at - 1].0 + self.free[at - 1].1 == self.free[at].0 {
            self.free[at - 1].1 += self.free[at].1;
            self.free.remove(at);
        }
    }

    /// Bytes that all slots together need.
    pub fn total(&self) -> i64 {
        self.high_water
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_slots_are_reused_and_merged() {
        let mut slots = Slots::default();
        let (a, b) = (slots.take(100), slots.take(64));
        assert_eq!((slots.offset(a), slots.offset(b)), (0, 128));
        slots.hold(a);
        slots.release(a);
        slots.release(a);
        slots.release(b);
        let c = slots.take(192);
        assert_eq!((slots.offset(c), slots.total()), (0, 192));
    }
}
