package netem

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnet/machine"
)

// maxFrame is the largest frame of a virtual Ethernet device.
const maxFrame = 64<<10 + 256

// End names one of the two ends of a wire.
type End int

// The two ends of a wire.
const (
	A End = iota
	B
)

// Device is where frames come from and go to: a descriptor of a TAP device. A
// Read returns one frame, a Write takes one. Close ends a Read that waits, with os.ErrClosed. After any
// other error of a Read, the next Read can succeed.
type Device = io.ReadWriteCloser

// Wire moves frames between two devices. Its methods are safe for concurrent
// use.
type Wire struct {
	ends    [2]Device
	clock   machine.Clock
	lines   [2]shell // the two directions, by the end that sends
	readers sync.WaitGroup
}

// shell runs a line in real time: the goroutine that reads frames and the timer
// step it in turns.
type shell struct {
	clock   machine.Clock
	to      Device
	refused atomic.Uint64 // frames that the device refused to write

	mu     sync.Mutex // guards the fields below; held while frames are written, to keep their order
	core   *line
	out    output
	alarm  machine.Alarm
	due    time.Duration // when alarm steps the machine; Never: it does not
	closed bool
}

// New starts a wire that passes everything, until Close. The wire owns the devices from now on.
// The same seed makes the same decisions.
func New(a, b Device, seed uint64) *Wire {
	w := &Wire{ends: [2]Device{a, b}, clock: machine.RealClock()}
	for i := range w.lines {
		l := &w.lines[i]
		l.clock, l.to = w.clock, w.ends[1-i]
		l.alarm = machine.Alarm{Clock: w.clock, Call: l.fire}
		l.due = machine.Never
		l.core = newLine(rand.New(rand.NewPCG(seed, uint64(i))))
		w.readers.Go(func() { l.read(w.ends[i]) })
	}
	return w
}

// Set gives the frames that come from an end a new plan.
func (w *Wire) Set(from End, p Plan) error {
	if err := p.Validate(); err != nil {
		return err
	}
	w.lines[from].step(input{Plan: &p})
	return nil
}

// Counters returns what has happened to the frames from an end.
func (w *Wire) Counters(from End) Counters {
	l := &w.lines[from]
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.core.Counters()
}

// Refused is how many frames from an end the device at the other end did not
// take, as it does while its interface is down.
func (w *Wire) Refused(from End) uint64 { return w.lines[from].refused.Load() }

// Close ends the wire and closes its devices. Frames that are on the wire are lost.
func (w *Wire) Close() error {
	err := errors.Join(w.ends[A].Close(), w.ends[B].Close())
	w.readers.Wait()
	for i := range w.lines {
		w.lines[i].close()
	}
	return err
}

func (l *shell) read(from Device) {
	buffer := make([]byte, maxFrame)
	for {
		n, err := from.Read(buffer)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		// Any other error means that the interface goes down: the next Read waits until it is up
		// again.
		l.step(input{Frame: append([]byte(nil), buffer[:n]...)})
	}
}

// step steps the machine, writes what leaves and sets the timer anew.
func (l *shell) step(in input) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	now := l.clock.Now()
	wake := l.core.Step(now, in, &l.out)
	for i, frame := range l.out.Frames {
		if _, err := l.to.Write(frame); err != nil {
			l.refused.Add(1)
		}
		l.out.Frames[i] = nil
	}
	l.out.Frames = l.out.Frames[:0]
	l.wakeAt(now, wake)
}

// wakeAt makes sure that the machine is stepped at an instant. A timer that is
// due earlier stays: it steps once for nothing, which is cheaper than a new
// timer for each frame.
func (l *shell) wakeAt(now, wake time.Duration) {
	if l.due > wake {
		l.due = wake
		l.alarm.Set(now, wake) // if it calls fire for the earlier time nevertheless, the machine is stepped once for nothing
	}
}

func (l *shell) fire() {
	l.mu.Lock()
	l.due = machine.Never
	l.mu.Unlock()
	l.step(input{})
}

func (l *shell) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.alarm.Stop()
}
