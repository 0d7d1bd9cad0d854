package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"
)

// opID identifies an operation: the worker that started it, the incarnation of the worker (a new
// one begins after each kill), and a number counted from 0. The header data of a PUT, and the
// match bits of a GET, contain the opID.
type opID struct {
	Worker      uint8
	Incarnation uint16
	Seq         uint32
}

func (id opID) bits() uint64 {
	return uint64(id.Worker)<<56 | uint64(id.Incarnation)<<32 | uint64(id.Seq)
}

func idOf(bits uint64) opID {
	return opID{uint8(bits >> 56), uint16(bits >> 32), uint32(bits)}
}

func (id opID) String() string { return fmt.Sprintf("%d.%d.%d", id.Worker, id.Incarnation, id.Seq) }

// opKind is a kind of operation.
type opKind uint8

const (
	opPut opKind = iota
	opPutAck
	opGet
	opKinds
)

func (k opKind) String() string { return [...]string{"PUT", "PUT+ACK", "GET"}[k] }

// recordKind is a kind of journal record.
type recordKind uint8

const (
	started  recordKind = iota // written by the initiator before the call
	sent                       // written by the initiator at the SEND event
	answered                   // written by the initiator at the ACK or REPLY event
	ended                      // written by the initiator at the MD's last event
	arrived                    // written by the target at the PUT event
	served                     // written by the target at the GET event
)

func (k recordKind) String() string {
	return [...]string{"started", "sent", "answered", "ended", "arrived", "served"}[k]
}

// record is one entry of a journal.
//
//	0  kind    1
//	1  op      1
//	2  target  1
//	3  worker  1   of the ID
//	4  incarnation    2   of the ID
//	6  errno   2
//	8  seq     4   of the ID
//	12 size    4
//	16 at      8
type record struct {
	Kind   recordKind
	Op     opKind        // kind of operation; only the initiator sets it
	Target uint8         // number of the target worker
	Errno  syscall.Errno // error number of the event; 0: success
	ID     opID
	Size   uint32 // number of bytes requested, or transferred
	// At is when the record was written, in microseconds of the wall clock, which all workers share.
	At int64
}

const recordSize = 24

func (r record) String() string {
	s := fmt.Sprintf("%v %v", r.ID, r.Kind)
	if r.Kind != arrived && r.Kind != served {
		s += " " + r.Op.String()
	}
	s += fmt.Sprintf(" target %d, %d bytes", r.Target, r.Size)
	if r.Errno != 0 {
		s += ", " + r.Errno.Error()
	}
	return s
}

func (r record) appendBinary(b []byte) []byte {
	b = append(b, byte(r.Kind), byte(r.Op), r.Target, r.ID.Worker)
	b = binary.LittleEndian.AppendUint16(b, r.ID.Incarnation)
	b = binary.LittleEndian.AppendUint16(b, uint16(r.Errno))
	b = binary.LittleEndian.AppendUint32(b, r.ID.Seq)
	b = binary.LittleEndian.AppendUint32(b, r.Size)
	return binary.LittleEndian.AppendUint64(b, uint64(r.At))
}

func parseRecord(b []byte) record {
	return record{
		Kind: recordKind(b[0]), Op: opKind(b[1]), Target: b[2], Errno: syscall.Errno(binary.LittleEndian.Uint16(b[6:])),
		ID:   opID{b[3], binary.LittleEndian.Uint16(b[4:]), binary.LittleEndian.Uint32(b[8:])},
		Size: binary.LittleEndian.Uint32(b[12:]), At: int64(binary.LittleEndian.Uint64(b[16:])),
	}
}

// journal is a write-ahead log of a worker: each record is written to a pipe before its event
// takes effect, so that it survives if the worker is killed. A PUT that was acknowledged is
// therefore in the journal of its target, because the ACK is sent after the handler of the PUT
// event has returned.
type journal struct {
	mu  sync.Mutex
	out io.Writer // destination of the records; guarded by mu, as is b
	b   []byte
}

func (j *journal) add(r record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r.At = time.Now().UnixMicro()
	j.b = r.appendBinary(j.b[:0])
	if _, err := j.out.Write(j.b); err != nil {
		panic(fmt.Sprintf("nobody reads the journal: %v", err)) // without a reader, the process has no purpose
	}
}

// readJournal passes the records of a worker to f, which owns the slices, until the worker ends
// the journal.
func readJournal(in io.Reader, f func([]record)) error {
	b := make([]byte, 4096*recordSize)
	for have := 0; ; {
		n, err := in.Read(b[have:])
		have += n
		whole := have / recordSize
		records := make([]record, whole)
		for i := range records {
			records[i] = parseRecord(b[i*recordSize:])
		}
		if whole > 0 {
			f(records)
		}
		have = copy(b, b[whole*recordSize:have])
		if err != nil {
			if have > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
}

// errnoOf returns the errno in an event's error.
func errnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return syscall.EIO
}
