//! Counting and refusing what an isolate holds outside V8's heap.
//!
//! V8's heap limit does not cover array buffers. They are allocated here, and whatever a
//! guest makes the host hold for it (bodies, blob parts) is reserved from the same count.

use std::{
    alloc::{Layout, alloc, alloc_zeroed, dealloc},
    ffi::c_void,
    fmt, ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use ::deno_core::v8;

/// What one isolate may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// V8's heap, in bytes. V8 rounds it; below about 4 MiB nothing runs.
    pub heap: usize,
    /// Array buffers and what the host holds for the isolate, in bytes together.
    pub array_buffers: usize,
}

/// What an isolate holds outside the heap. Shared between V8's allocator and the host.
pub struct Memory {
    used: AtomicUsize,
    limit: usize,
    refused: AtomicBool,
}

impl Memory {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            limit,
            refused: AtomicBool::new(false),
        })
    }

    /// How many bytes are held now.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether anything was refused so far. An uncaught `RangeError` after that is the end
    /// of memory and not a mistake of the script.
    pub fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Counts bytes that the host is about to hold for the isolate. `None`: there is no
    /// room for them.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> Option<Reservation> {
        self.take(bytes).then(|| Reservation {
            memory: self.clone(),
            bytes,
        })
    }

    fn take(&self, bytes: usize) -> bool {
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|sum| *sum <= self.limit)
        });
        if taken.is_err() {
            self.refused.store(true, Ordering::Relaxed);
        }
        taken.is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.used(), self.limit)
    }
}

/// Bytes that count as held until this is dropped.
#[derive(Debug)]
pub struct Reservation {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.memory.give_back(self.bytes);
    }
}

/// Bytes with the reservation that covers them.
struct Counted {
    bytes: Vec<u8>,
    _reservation: Reservation,
}

impl AsMut<[u8]> for Counted {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// An `ArrayBuffer` that takes over these bytes without copying them. They count until it
/// is collected. `None`: there is no room for them, even after collecting garbage.
pub fn array_buffer<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    memory: &Arc<Memory>,
    bytes: Vec<u8>,
) -> Option<v8::Local<'s, v8::ArrayBuffer>> {
    let reservation = memory.reserve(bytes.len()).or_else(|| {
        scope.low_memory_notification();
        memory.reserve(bytes.len())
    })?;
    let store = v8::ArrayBuffer::new_backing_store_from_bytes(Box::new(Counted {
        bytes,
        _reservation: reservation,
    }));
    Some(v8::ArrayBuffer::with_backing_store(scope, &store.make_shared()))
}

/// The allocator of an isolate's array buffers.
pub(crate) fn allocator(memory: Arc<Memory>) -> v8::UniqueRef<v8::Allocator> {
    static VTABLE: v8::RustAllocatorVtable<Memory> = v8::RustAllocatorVtable {
        allocate,
        allocate_uninitialized,
        free,
        drop: drop_memory,
    };
    // SAFETY: the handle is a counted reference to the type the table expects; V8 gives it
    // back through the table's `drop`, exactly once.
    unsafe { v8::new_rust_allocator(Arc::into_raw(memory), &VTABLE) }
}

/// The alignment `malloc` would give: typed arrays need 8, vector instructions like 16.
const ALIGN: usize = 16;

unsafe extern "C" fn allocate(memory: &Memory, len: usize) -> *mut c_void {
    allocate_with(memory, len, alloc_zeroed)
}

unsafe extern "C" fn allocate_uninitialized(memory: &Memory, len: usize) -> *mut c_void {
    allocate_with(memory, len, alloc)
}

/// Null makes V8 collect garbage, ask once more, and then throw a `RangeError`.
fn allocate_with(memory: &Memory, len: usize, alloc: unsafe fn(Layout) -> *mut u8) -> *mut c_void {
    let Ok(layout) = Layout::from_size_align(len.max(1), ALIGN) else {
        return ptr::null_mut();
    };
    if !memory.take(len) {
        return ptr::null_mut();
    }
    // SAFETY: the layout's size is not zero.
    let block = unsafe { alloc(layout) };
    if block.is_null() {
        memory.give_back(len);
    }
    block.cast()
}

unsafe extern "C" fn free(memory: &Memory, data: *mut c_void, len: usize) {
    if data.is_null() {
        return;
    }
    memory.give_back(len);
    // SAFETY: V8 frees what `allocate_with` gave it, once, with the length it asked for,
    // for which this layout was made; it was valid then.
    unsafe { dealloc(data.cast(), Layout::from_size_align_unchecked(len.max(1), ALIGN)) };
}

unsafe extern "C" fn drop_memory(memory: *const Memory) {
    // SAFETY: the pointer is the one that `allocator` took out of its `Arc`; V8 calls this
    // once, when the last buffer's allocator is gone.
    drop(unsafe { Arc::from_raw(memory) });
}
