package discovery

import (
	"sync"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/discovery/engine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// TestPushBufferIsRead: a buffer takes no further push before its push has been read, also
// while pushes arrive by several connections: the info of one node must not count as
// another's.
func TestPushBufferIsRead(t *testing.T) {
	table := portals.New(lnet.New(lnet.Config{}))
	target := pushTarget{table: table, maxSize: engine.NewMachine(engine.Limits{}).MaxInfoSize()}
	target.push = func(in engine.Input) {
		if in.Err != nil || len(in.Info.NIs) != 2 || in.Info.NIs[1].NID != in.Remote {
			t.Errorf("from %v came %v, %v", in.Remote, in.Info.NIs, in.Err)
		}
		target.again(0)
	}
	if err := target.start(); err != nil {
		t.Fatal(err)
	}
	defer target.close()
	var senders sync.WaitGroup
	for i := range byte(4) {
		senders.Go(func() {
			for range 5000 {
				target.arrives(t, nid.MustParse("10.0.0."+string('1'+i)+"@tcp"))
			}
		})
	}
	senders.Wait()
}

// arrives makes a push of a node arrive in a posted buffer, as portals does.
func (t *pushTarget) arrives(test *testing.T, from nid.NID) {
	info := wire.PingInfo{Features: wire.FeatureNIStatus, NIs: []wire.NIStatus{
		{NID: nid.Lo0(), Status: wire.StatusUp}, {NID: from, Status: wire.StatusUp},
	}}
	bytes, err := info.AppendBinary(nil)
	if err != nil {
		test.Error(err)
		return
	}
	t.mu.Lock()
	if len(t.posted) == 0 {
		t.mu.Unlock()
		return
	}
	b := t.posted[0]
	t.posted = t.posted[1:]
	t.mu.Unlock()
	_ = t.table.MEUnlink(b.entry)
	n := copy(b.bytes, bytes)
	b.event(&portals.Event{
		Kind: portals.EventPut, Sender: from, Segments: []lnd.Segment{b.bytes},
		MLength: uint32(n), RLength: uint32(n),
	})
}
