package main

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"sync"
)

// casterReceipts counts what a member has received.
type casterReceipts struct {
	Messages uint64 // number of different messages that arrived
	Twice    uint64 // number of messages that had arrived before
	Wrong    uint64 // number of messages whose contents differ from those that were sent
}

// casterReceiver checks what a member receives.
type casterReceiver struct {
	mu      sync.Mutex
	origins map[netip.Addr][]uint64 // for each origin, a bit for each number of a message; guarded by mu
	casterReceipts
}

func (r *casterReceiver) take(from netip.Addr, data []byte) {
	number, good := readMessage(data)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !good {
		r.Wrong++
		return
	}
	if r.origins == nil {
		r.origins = make(map[netip.Addr][]uint64)
	}
	bits, word := r.origins[from], int(number/64)
	for len(bits) <= word {
		bits = append(bits, 0)
		r.origins[from] = bits
	}
	if bit := uint64(1) << (number % 64); bits[word]&bit == 0 {
		bits[word] |= bit
		r.Messages++
	} else {
		r.Twice++
	}
}

func (r *casterReceiver) seen() casterReceipts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.casterReceipts
}

// forget resets the counts. It keeps the set of messages that have arrived, so that duplicates of
// earlier ones are still noticed.
func (r *casterReceiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.casterReceipts = casterReceipts{}
}

// filler contains the bytes that messages are filled with. Each message gets a part of it that
// begins at an offset which depends on the number of the message.
var filler = func() (b [8192]byte) {
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}()

const (
	fillerPeriod  = 1021
	largestFiller = len(filler) - fillerPeriod
	maxNumber     = 1 << 24 // bound for the number of messages of one origin
)

// fillMessage writes the contents of the message with this number into b, which has from 8 to
// largestFiller bytes.
func fillMessage(b []byte, number uint64) {
	binary.LittleEndian.PutUint64(b, number)
	copy(b[8:], filler[number%fillerPeriod:])
}

// readMessage returns the number of a message, and whether its contents are right.
func readMessage(b []byte) (number uint64, good bool) {
	if len(b) < 8 || len(b) > largestFiller {
		return 0, false
	}
	number = binary.LittleEndian.Uint64(b)
	at := number % fillerPeriod
	return number, number < maxNumber && bytes.Equal(b[8:], filler[at:int(at)+len(b)-8])
}
