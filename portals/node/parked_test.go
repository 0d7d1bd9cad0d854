package node_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
)

// muteDriver is a driver whose peers answer nothing. Messages stay in it until Shutdown.
type muteDriver struct {
	lnd.NI // as in stuckDriver
	up     lnd.Upcalls
	mu     sync.Mutex
	held   []*lnd.Message // guarded by mu
}

func (*muteDriver) Type() nid.NetType { return nid.GNI }

func (d *muteDriver) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) { d.up = up; return d, nil }

func (*muteDriver) NID() nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), 1) }

func (d *muteDriver) Send(m *lnd.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = append(d.held, m)
}

func (d *muteDriver) Shutdown(context.Context) error {
	d.mu.Lock()
	held := d.held
	d.held = nil
	d.mu.Unlock()
	for _, m := range held {
		d.up.Finalize(m, context.Canceled)
	}
	return nil
}

// parked starts a node with a PUT that waits for the discovery of its peer. handle gets the events of its MD.
func parked(t *testing.T, handle func(*node.Node, *portals.Event)) *node.Node {
	t.Helper()
	n, err := node.Start(node.Config{Networks: "lo", Clock: machine.RealClock()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.LNet().AddNI(new(muteDriver), lnd.Config{Net: nid.MakeNet(nid.GNI, 0)}); err != nil {
		t.Fatal(err)
	}
	md, err := n.Table().MDBind(portals.MD{
		Segments: []portals.Segment{make([]byte, 8)}, Threshold: 1, Handler: func(e *portals.Event) { handle(n, e) },
	}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	peer := nid.ProcessID{NID: nid.FromNumber(nid.MakeNet(nid.GNI, 0), 2), PID: nid.LustrePID}
	if err := n.Table().Put(portals.PutRequest{MD: md, Target: peer, Portal: 30}); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCloseInHandlerOfParked: Close fails a message that waits for discovery, and the handler of its event needs the
// goroutine that has called Close, or calls Close itself. Close returns an error five seconds after the end of its
// context, or when the handler's Close has ended the node.
func TestCloseInHandlerOfParked(t *testing.T) {
	for _, calls := range []bool{false, true} {
		t.Run(map[bool]string{false: "waits", true: "calls Close"}[calls], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				events, inner := make(chan *portals.Event), make(chan error, 1)
				n := parked(t, func(n *node.Node, e *portals.Event) {
					if e.Kind != portals.EventSend {
						return
					}
					if calls {
						inner <- n.Close(ctx)
					} else {
						events <- e
					}
				})
				began, done := time.Now(), make(chan error, 1)
				go func() { done <- n.Close(ctx) }()
				select {
				case err := <-done:
					took, want := time.Since(began), 6*time.Second
					if calls {
						want = time.Second // until the driver is shut down
					}
					if took != want || calls != (err == nil) || !calls && !strings.Contains(err.Error(), "handler") {
						t.Errorf("%v after %v", err, took)
					}
				case <-time.After(10 * time.Minute):
					t.Fatal("Close has not returned after ten minutes")
				}
				if calls {
					<-inner
				} else {
					<-events
				}
				synctest.Wait() // the goroutine that Close left behind has ended
			})
		})
	}
}
