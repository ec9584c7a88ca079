//! The allocator: hands out memory and takes back only the last piece.
//!
//! A call lasts microseconds and its instance is thrown away with all its memory, so
//! nothing is gained by keeping books about what is free. This is sound as long as
//! every call starts from the snapshot, which is how the host runs this component; a
//! kept instance would only run into its memory limit, call by call.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How much memory is asked for at once: growing is a system call of the host.
const STEP: usize = 1 << 20;

/// What a wasm page holds, in bytes.
const PAGE: usize = 1 << 16;

#[global_allocator]
static HEAP: Heap = Heap {
    next: AtomicUsize::new(0),
    end: AtomicUsize::new(0),
};

/// The free range. One thread, so the atomics are plain variables.
struct Heap {
    next: AtomicUsize,
    end: AtomicUsize,
}

/// Takes memory ahead, so that a call finds `bytes` without growing.
pub fn reserve(bytes: usize) {
    if HEAP.end.load(Relaxed) - HEAP.next.load(Relaxed) < bytes {
        // Without that memory now, a call asks for it later.
        let _ = HEAP.grow(bytes);
    }
}

impl Heap {
    /// Makes room for `bytes` behind the free range, or for a new one elsewhere.
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
        // The last page of a 4 GiB memory ends at 0: leave it alone.
        self.end.store(start.checked_add(pages * PAGE)?, Relaxed);
        Some(())
    }

    fn take(&self, layout: Layout) -> Option<usize> {
        let start = self.next.load(Relaxed).checked_next_multiple_of(layout.align())?;
        let end = start.checked_add(layout.size())?;
        if end <= self.end.load(Relaxed) {
            self.next.store(end, Relaxed);
            return Some(start);
        }
        self.grow(layout.size().checked_add(layout.align())?)?;
        let start = self.next.load(Relaxed).checked_next_multiple_of(layout.align())?;
        self.next.store(start + layout.size(), Relaxed);
        Some(start)
    }

    fn is_last(&self, block: *mut u8, size: usize) -> bool {
        block as usize + size == self.next.load(Relaxed)
    }
}

// SAFETY: a block lies between the old `next` and the new one, inside memory that
// `memory.grow` gave to us alone, aligned as asked; no block is handed out twice while
// it lives, as `next` goes back only over a block that is freed or moved.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.take(layout).map_or(null_mut(), |start| start as *mut u8)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if self.is_last(block, layout.size()) {
            self.next.store(block as usize, Relaxed);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if self.is_last(block, layout.size()) {
            self.next.store(block as usize, Relaxed);
        } else if size <= layout.size() {
            return block;
        }
        let wanted = Layout::from_size_align(size, layout.align()).ok();
        let Some(start) = wanted.and_then(|wanted| self.take(wanted)) else {
            // The block stays, and is not free after all.
            self.next.fetch_max(block as usize + layout.size(), Relaxed);
            return null_mut();
        };
        let target = start as *mut u8;
        if target != block {
            // SAFETY: both are live blocks of at least this many bytes.
            unsafe { std::ptr::copy(block, target, layout.size().min(size)) };
        }
        target
    }
}
