package portalstest

import (
	"cmp"
	"context"
	"sync"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// Unread is a driver none of whose peers reads anything: a message stays in it until the NI is shut down.
type Unread struct {
	ID nid.NID // NID of the NI

	up     lnd.Upcalls
	mu     sync.Mutex
	closed bool // guarded by mu, like held
	held   []*lnd.Message
}

// Type implements lnd.Driver.
func (u *Unread) Type() nid.NetType { return u.ID.Net().Type() }

// Startup implements lnd.Driver.
func (u *Unread) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) { u.up = up; return u, nil }

// NID implements lnd.NI.
func (u *Unread) NID() nid.NID { return u.ID }

// Send implements lnd.NI. It keeps the message.
func (u *Unread) Send(m *lnd.Message) {
	u.mu.Lock()
	closed := u.closed
	if !closed {
		u.held = append(u.held, m)
	}
	u.mu.Unlock()
	if closed {
		u.up.Finalize(m, context.Canceled)
	}
}

// Recv implements lnd.NI.
func (*Unread) Recv(*lnd.Delivery) {}

// Shutdown implements lnd.NI. It ends the messages that Send has kept.
func (u *Unread) Shutdown(context.Context) error {
	u.mu.Lock()
	u.closed = true
	held := u.held
	u.held = nil
	u.mu.Unlock()
	for _, m := range held {
		u.up.Finalize(m, context.Canceled)
	}
	return nil
}

// Arrive lets a message with a payload arrive from the process d.From.PID of a peer, by default LustrePID. d has the
// message's header without the NIDs, PIDs and the length of the payload.
func (u *Unread) Arrive(t *testing.T, from nid.NID, d *lnd.Delivery, payload []byte) {
	t.Helper()
	d.From = nid.ProcessID{NID: from, PID: cmp.Or(d.From.PID, nid.LustrePID)}
	h := &d.Header
	h.DestNID, h.DestPID, h.SrcNID, h.SrcPID = u.ID, nid.LustrePID, from, d.From.PID
	h.PayloadLength = uint32(len(payload))
	answer, err := u.up.Parse(d)
	if err != nil || answer != lnd.Accept || d.Dropped {
		t.Fatalf("answer %v, %v, dropped %v", answer, err, d.Dropped)
	}
	for _, s := range d.Sink.Append(nil) {
		payload = payload[copy(s, payload):]
	}
	u.up.Delivered(d, nil)
}
