package portals

import (
	"sync"
	"sync/atomic"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/wire"
)

// MDOption is a set of options of a memory descriptor, with LNet's bits.
type MDOption uint32

// Options of an MD (LNET_MD_*).
const (
	OpPut        MDOption = 1 << 0 // the MD accepts PUTs
	OpGet        MDOption = 1 << 1 // the MD accepts GETs
	ManageRemote MDOption = 1 << 2 // the initiator chooses the offset, not the MD
	Truncate     MDOption = 1 << 4 // a message that is too long is cut, not dropped
	AckDisable   MDOption = 1 << 5 // no ACK is sent for PUTs to the MD
	HasMaxSize   MDOption = 1 << 7 // the field MaxSize is valid
	// TrackResponse ends the MD when the answer to a Get or Put does not come in time;
	// NoTrackResponse prevents that. Without either, lnet.Config.ResponseTracking decides.
	TrackResponse   MDOption = 1 << 10
	NoTrackResponse MDOption = 1 << 11
	// MayBlock says that the Handler may block. The Handler then runs in a goroutine that
	// serves this MD alone, so it stops neither a driver nor a goroutine that called a method
	// of Table. Each event then costs a switch of goroutines. Not an LNet option.
	MayBlock MDOption = 1 << 30
	Priority MDOption = 1 << 31 // messages sent from the MD pass queued ones; not an LNet option
)

// UnlinkOption says whether an object goes away by itself (lnet_unlink).
type UnlinkOption uint8

// Unlink options of MDs and MEs.
const (
	Retain UnlinkOption = iota // the object stays until a call unlinks it
	Unlink                     // MD: goes when exhausted; ME: goes with its MD
)

// ThresholdInfinite as an MD's Threshold allows any number of operations.
const ThresholdInfinite = -1

// MaxSegments is the largest number of segments of an MD (LNET_MAX_IOV).
const MaxSegments = 256

// MD describes memory for MDAttach and MDBind (struct lnet_md). The table owns
// the memory until the MD's last event.
type MD struct {
	Segments []lnd.Segment // memory of the MD, in order; at most 256 segments
	// Threshold is the number of operations that the MD allows, or ThresholdInfinite. A Put
	// takes one and its ACK another, likewise a Get and its REPLY; at a target each matched
	// message takes one.
	Threshold int
	MaxSize   int          // with HasMaxSize: bytes of the largest request accepted
	Options   MDOption     // operations that the MD accepts, and how
	UserPtr   any          // value that the events of the MD have
	Handler   func(*Event) // must not block without MayBlock, see the package text; if Handler and EQ are nil, the MD has no events
	EQ        *EQ          // queue that gets each event after Handler; nil: none
}

// md is a memory descriptor in its slot of the table (struct lnet_libmd). It
// is three cache lines; matching needs the first.
type md struct {
	mu        sync.Mutex
	options   MDOption // guarded by mu, like all fields below except slot and aborted
	slot      uint32
	threshold int // number of operations left, or ThresholdInfinite
	offset    int // local offset, in bytes
	length    int // bytes of all segments
	maxSize   int
	refs      int32 // number of operations in progress
	me        meRef // ME that the MD is attached to; 0: bound
	portal    uint8 // portal of the ME
	auto      bool  // the MD unlinks itself when it is exhausted
	zombie    bool
	last      bool // the event with Unlinked set is being delivered
	handling  bool // a goroutine is delivering events
	late      bool // an answer did not come in time, so the MD was ended
	crowded   bool // messages for the MD are held; see backpressure.go
	releasing bool // a goroutine is releasing held messages

	generation uint64
	handle     MDHandle // handle of the MD; 0: the slot is free, or the MD is a zombie (see die)
	was        MDHandle // last handle of the MD, which the events of a zombie still show
	asked      *asked   // processes whose ACKs and REPLYs are awaited; nil: there were none in this slot so far
	awaited    uint64   // round of the tracker in which the latest tracked operation began; 0: none is awaited
	pending    operationList

	segments []lnd.Segment
	userPtr  any
	handler  func(*Event)
	eq       *EQ
	taken    int32       // number of events that have been queued since the handler began to run; 0 again when no event is queued; guarded by mu
	aborted  atomic.Bool // tells lnet to give up messages that still wait for credits
}

// check validates what MDAttach and MDBind have in common.
func (m *MD) check() (length int, err error) {
	if len(m.Segments) > MaxSegments || m.Threshold < ThresholdInfinite {
		return 0, syscall.EINVAL
	}
	for _, s := range m.Segments {
		length += len(s)
	}
	if uint64(length) > 1<<32-1 {
		return 0, syscall.EINVAL
	}
	if m.Options&HasMaxSize != 0 && (m.MaxSize < 0 || m.MaxSize > length) {
		return 0, syscall.EINVAL
	}
	return length, nil
}

// exhausted reports whether the MD takes no more operations.
func (d *md) exhausted() bool {
	return d.threshold == 0 ||
		d.options&HasMaxSize != 0 && d.offset+d.maxSize > d.length
}

// begin counts an operation that begins: it lowers the threshold by one and takes a reference.
func (d *md) begin() {
	if d.threshold > 0 {
		d.threshold--
	}
	d.refs++
}

// newMD takes a slot for a descriptor. The result is locked.
func (t *Table) newMD(conf MD, length int, auto UnlinkOption) (*md, error) {
	if conf.EQ != nil && !conf.EQ.join() {
		return nil, syscall.ENOENT
	}
	slot, ok := t.mds.take()
	if !ok {
		if conf.EQ != nil {
			conf.EQ.leave()
		}
		return nil, syscall.ENOMEM
	}
	d := t.mds.at(slot)
	d.mu.Lock()
	d.slot = slot
	d.generation++
	d.handle = MDHandle(makeCookie(cookieMD, slot, d.generation))
	d.was = d.handle
	d.options, d.maxSize = conf.Options, conf.MaxSize
	d.segments, d.userPtr, d.handler, d.eq = conf.Segments, conf.UserPtr, conf.Handler, conf.EQ
	d.length, d.threshold = length, conf.Threshold
	d.offset, d.auto, d.zombie, d.last = 0, auto == Unlink, false, false
	d.asked.forget()
	d.awaited, d.late = 0, false
	d.crowded, d.releasing, d.taken = false, false, 0
	d.me = 0
	d.aborted.Store(false)
	return d, nil
}

// lockMD returns the live MD of a handle, locked, or nil.
func (t *Table) lockMD(h MDHandle) *md {
	if cookieKind(uint64(h)) != cookieMD {
		return nil
	}
	d := t.mds.at(cookieSlot(uint64(h)))
	if d == nil {
		return nil
	}
	d.mu.Lock()
	if d.handle != h {
		d.mu.Unlock()
		return nil
	}
	return d
}

// freeMD gives the slot of an MD back whose last event has been delivered.
// The caller holds d.mu.
func (t *Table) freeMD(d *md) {
	d.segments, d.userPtr, d.handler, d.eq = nil, nil, nil, nil
	d.was, d.last, d.zombie = 0, false, false
	t.mds.put(d.slot, d.generation)
}

// MDBind makes an MD that is attached to no ME, to Put from and Get into.
//
//	EINVAL  OpPut or OpGet set, more than 1 MiB or 256 segments
//	ENOENT  the EQ was freed
//	ENOMEM  no more handles
func (t *Table) MDBind(conf MD, unlink UnlinkOption) (MDHandle, error) {
	length, err := conf.check()
	if err == nil && (conf.Options&(OpPut|OpGet) != 0 || length > wire.MaxPayload) {
		err = syscall.EINVAL
	}
	if err != nil {
		return 0, opError("MDBind", err)
	}
	d, err := t.newMD(conf, length, unlink)
	if err != nil {
		return 0, opError("MDBind", err)
	}
	h := d.handle
	d.mu.Unlock()
	return h, nil
}
