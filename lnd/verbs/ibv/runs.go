//go:build ibverbs && cgo && linux

package ibv

import (
	"errors"
	"unsafe"

	"ulnet/lnd/verbs"
)

const (
	// longestRegion is the largest size of a region in bytes, equal to that of a message.
	longestRegion = 1 << 31
	// mostKeys is the largest number of registrations, and so of keys, of one region.
	mostKeys = 16
)

var errAccess = errors.New("no memory, or rights that do not go together")

// run is a piece of memory without gaps, with the address and the key by which the device knows
// it. Several pieces of the caller that follow each other in memory make one run.
type run struct {
	start  unsafe.Pointer
	length uintptr
	offset uint64 // offset of the run in its region, in bytes
	base   uint64 // the address of its first byte, for the device
	key    uint32 // local key (lkey) of the run
}

// runsOf joins pieces that follow each other in memory, leaves out empty ones, and returns how
// many bytes there are.
func runsOf(pieces [][]byte) (runs []run, total uint64) {
	for _, p := range pieces {
		if len(p) == 0 {
			continue
		}
		start, n := unsafe.Pointer(unsafe.SliceData(p)), uintptr(len(p))
		if last := len(runs) - 1; last >= 0 && uintptr(runs[last].start)+runs[last].length == uintptr(start) {
			runs[last].length += n
		} else {
			runs = append(runs, run{start: start, length: n, offset: total})
		}
		total += uint64(n)
	}
	return runs, total
}

// checkRegion returns an error if no region can be registered with this total length or with
// these access rights.
func checkRegion(total uint64, access verbs.Access) error {
	const known = verbs.LocalWrite | verbs.RemoteWrite
	switch {
	case total > longestRegion:
		return verbs.ErrTooLarge
	case total == 0 || access&^known != 0 || access == verbs.RemoteWrite:
		return errAccess
	}
	return nil
}

// locate returns the run that contains all of b, and the offset of b in it. It returns nil if no run
// does.
func locate(runs []run, b []byte) (r *run, offset uint64) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for i := range runs {
		r := &runs[i]
		start := uintptr(r.start)
		if at >= start && at-start <= r.length && uintptr(len(b)) <= r.length-(at-start) {
			return r, uint64(at - start)
		}
	}
	return nil, 0
}

// gather copies pieces to one buffer, scatter copies back.
func gather(to []byte, pieces [][]byte) {
	for _, p := range pieces {
		to = to[copy(to, p):]
	}
}

func scatter(pieces [][]byte, from []byte) {
	for _, p := range pieces {
		from = from[copy(p, from):]
	}
}
