//! The allocator: blocks of a few sizes, freed ones kept in a list per size.
//!
//! An evaluation makes thousands of small blocks and its instance is thrown away right
//! after it. So nothing is merged, split or given back: taking a block is a pop or an
//! addition, freeing one is a push. What is freed is used again, in the same size.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Small sizes are multiples of this; every block starts at one.
const GRAIN: usize = 16;

/// The largest small size, in bytes. Above it sizes are powers of two.
const SMALL: usize = 1024;

/// Lists of small sizes, then one for each power of two from 2^11 to 2^31.
const LISTS: usize = SMALL / GRAIN + 21;

/// How much memory is asked for at once, in bytes: growing is a system call of the host.
const STEP: usize = 1 << 20;

/// What a wasm page holds, in bytes.
const PAGE: usize = 1 << 16;

#[global_allocator]
static HEAP: Heap = Heap {
    next: AtomicUsize::new(0),
    end: AtomicUsize::new(0),
    free: [const { AtomicUsize::new(0) }; LISTS],
};

/// One thread, so the atomics are plain variables.
struct Heap {
    /// The range that was never handed out.
    next: AtomicUsize,
    end: AtomicUsize,
    /// The first freed block of each size, 0 for none; a block begins with the next one.
    free: [AtomicUsize; LISTS],
}

/// Takes memory ahead, so that a call finds `bytes` without growing.
pub fn reserve(bytes: usize) {
    if HEAP.end.load(Relaxed) - HEAP.next.load(Relaxed) < bytes {
        // Without that memory now, a call asks for it later.
        let _ = HEAP.grow(bytes);
    }
}

impl Heap {
    /// A block that was never handed out.
    fn fresh(&self, size: usize, align: usize) -> Option<usize> {
        let in_range = || {
            let start = self.next.load(Relaxed).checked_next_multiple_of(align.max(GRAIN))?;
            let end = start.checked_add(size).filter(|end| *end <= self.end.load(Relaxed))?;
            self.next.store(end, Relaxed);
            Some(start)
        };
        in_range().or_else(|| {
            self.grow(size.checked_add(align)?)?;
            in_range()
        })
    }

    /// Makes room for `bytes` behind the free range, or for a new range elsewhere.
    fn grow(&self, bytes: usize) -> Option<()> {
        let pages = bytes.max(STEP).checked_next_multiple_of(PAGE)? / PAGE;
        let before = core::arch::wasm32::memory_grow(0, pages);
        if before == usize::MAX {
            return None;
        }
        let start = before * PAGE;
        if start != self.end.load(Relaxed) {
            self.next.store(start, Relaxed);
        }
        // A range up to the very end of the address space would end at 0: leave it alone.
        self.end.store(start.checked_add(pages * PAGE)?, Relaxed);
        Some(())
    }
}

/// The list of a size, and how many bytes its blocks have. No size is beyond 2^31, as a
/// `Layout` holds less.
fn class(size: usize) -> (usize, usize) {
    if size <= SMALL {
        let grains = size.div_ceil(GRAIN).max(1);
        return (grains - 1, grains * GRAIN);
    }
    let bytes = size.next_power_of_two();
    (SMALL / GRAIN + bytes.ilog2() as usize - 11, bytes)
}

// SAFETY: a block is either fresh (between the old `next` and the new one, inside memory
// that `memory.grow` gave to us alone) or taken off the list of freed blocks of its
// size, so it is used by nobody else, has the size of its class, which is at least the
// size asked for, and starts at a multiple of 16 or of what was asked for.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (list, bytes) = class(layout.size());
        let freed = self.free[list].load(Relaxed);
        if freed == 0 || layout.align() > GRAIN {
            return self
                .fresh(bytes, layout.align())
                .map_or(null_mut(), |block| block as *mut u8);
        }
        // SAFETY: `freed` came from `dealloc`, which wrote the next block's address there.
        self.free[list].store(unsafe { *(freed as *const usize) }, Relaxed);
        freed as *mut u8
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let (list, _) = class(layout.size());
        // SAFETY: the block is ours again, and has room for an address: the smallest has
        // 16 bytes.
        unsafe { *block.cast::<usize>() = self.free[list].load(Relaxed) };
        self.free[list].store(block as usize, Relaxed);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (old, new) = (class(layout.size()), class(size));
        if old == new {
            return block;
        }
        let at = block as usize;
        if at + old.1 == self.next.load(Relaxed) && at.saturating_add(new.1) <= self.end.load(Relaxed) {
            self.next.store(at + new.1, Relaxed);
            return block;
        }
        // SAFETY: the caller vouches for `block`, `layout` and `size`; both blocks are
        // live, distinct and hold the bytes that are copied.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}
