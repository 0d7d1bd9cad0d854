//go:build ibverbs && cgo && linux && !race

package ibv

import (
	"testing"

	"ulnet/lnd/verbs"
)

// TestOnFakeAllocates: in steady state a message and a write allocate nothing.
func TestOnFakeAllocates(t *testing.T) {
	fake(t)
	a, b := newNode(t, "127.0.0.2"), newNode(t, "127.0.0.3")
	b.keep = true
	x, y := connect(t, a, b)
	memory, sink := make([]byte, 64<<10), make([]byte, 64<<10)
	source, err := a.pd.Register([][]byte{memory}, 0)
	if err != nil {
		t.Fatal(err)
	}
	target, err := b.pd.Register([][]byte{sink}, verbs.LocalWrite|verbs.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	wrs := []verbs.SendWR{
		{Op: verbs.Write, Pieces: []verbs.SGE{{Bytes: memory, MR: source}}, Remote: target.Frags(nil)[0], RKey: target.RKey()},
		{Pieces: []verbs.SGE{{Bytes: make([]byte, 128)}, {Bytes: memory[:256], MR: source}}, Signaled: true},
	}
	n := testing.AllocsPerRun(200, func() {
		if err := x.conn.PostSend(wrs); err != nil {
			t.Fatal(err)
		}
		<-x.done
		c := <-b.kept
		b.pool.Return(c.Buffer)
	})
	if n != 0 {
		t.Errorf("%v allocations for a message", n)
	}
	source.Deregister()
	target.Deregister()
	hangUp(x, y)
	a.close()
	b.close()
}
