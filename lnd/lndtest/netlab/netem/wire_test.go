package netem

import (
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// device is a Device in memory.
type device struct {
	in     chan []byte // frames that Read returns
	out    chan []byte // frames that were written
	down   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newDevice() *device {
	return &device{in: make(chan []byte), out: make(chan []byte, 100), down: make(chan struct{}, 100), closed: make(chan struct{})}
}

func (d *device) Read(b []byte) (int, error) {
	select {
	case f := <-d.in:
		return copy(b, f), nil
	case <-d.down:
		return 0, io.ErrNoProgress
	case <-d.closed:
		return 0, os.ErrClosed
	}
}

func (d *device) Write(b []byte) (int, error) {
	if len(b) == 0 || b[0] == '!' {
		return 0, errors.New("refused")
	}
	d.out <- append([]byte(nil), b...)
	return len(b), nil
}

func (d *device) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

func (d *device) written() []string {
	var all []string
	for {
		select {
		case f := <-d.out:
			all = append(all, string(f))
		default:
			return all
		}
	}
}

func TestWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newDevice(), newDevice()
		w := New(a, b, 1)
		if err := w.Set(A, Plan{Delay: 10 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		want := func(d *device, frames ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(frames, d.written()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		}
		a.in <- []byte("one")
		b.in <- []byte("back")
		want(a, "back")
		want(b)
		time.Sleep(5 * time.Millisecond)
		a.in <- []byte("two")
		time.Sleep(5 * time.Millisecond)
		want(b, "one")
		time.Sleep(5 * time.Millisecond)
		want(b, "two")

		a.down <- struct{}{} // an error of the device does not end the wire
		if err := w.Set(A, Plan{Duplicate: 1}); err != nil {
			t.Fatal(err)
		}
		a.in <- []byte("three")
		a.in <- []byte("!")
		want(b, "three", "three")
		if got := w.Counters(A); got.Frames != 4 || got.Duplicated != 2 || w.Counters(B).Frames != 1 {
			t.Errorf("counted %+v", got)
		}
		if got := w.Refused(A); got != 2 {
			t.Errorf("%d frames refused, want 2", got)
		}
		if err := w.Set(B, Plan{Loss: 2}); err == nil {
			t.Error("a plan that makes no sense is accepted")
		}
		if err := w.Set(A, Plan{Delay: time.Second}); err != nil {
			t.Fatal(err)
		}
		a.in <- []byte("four")
		synctest.Wait()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		want(b) // the frames on the wire were lost
	})
}
