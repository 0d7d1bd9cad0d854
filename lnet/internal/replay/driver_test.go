package replay

import (
	"context"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// said is a message that this node sent.
type said struct {
	at   time.Duration
	hop  nid.NID // NID of the next hop
	by   nid.NID // NID of the local NI
	head wire.Header
	data []byte
}

// driver makes NIs that pass the messages of our node to the player.
type driver struct {
	p    *player
	kind nid.NetType
}

func (d driver) Type() nid.NetType { return d.kind }

func (d driver) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	id, err := nid.Parse(cfg.Interface + "@" + cfg.Net.String())
	if err != nil {
		return nil, err
	}
	ni := &driverNI{p: d.p, id: id, up: up}
	d.p.nis[id] = ni
	return ni, nil
}

type driverNI struct {
	p  *player
	id nid.NID
	up lnd.Upcalls
}

func (ni *driverNI) NID() nid.NID                   { return ni.id }
func (ni *driverNI) Shutdown(context.Context) error { return nil }

// Send implements lnd.NI. The message leaves at once, like all messages of a recording.
func (ni *driverNI) Send(m *lnd.Message) {
	s := &said{at: ni.p.clock.Now(), hop: m.Target.NID, by: ni.id, head: m.Header, data: m.Payload.AppendTo(nil)}
	ni.up.Finalize(m, nil)
	ni.p.sent(s)
}

// delivery is a message that lnet is receiving.
type delivery struct {
	lnd.Delivery
	data []byte
	recv bool
}

// deliver passes a message to lnet like a connection from a peer.
func (ni *driverNI) deliver(from nid.ProcessID, stamp uint64, head wire.Header, data []byte) {
	d := &delivery{data: data}
	d.Header, d.From, d.Incarnation, d.ReceivedAt, d.Driver = head, from, stamp, ni.p.clock.Now(), d
	answer, err := ni.up.Parse(&d.Delivery)
	switch {
	case err != nil:
		ni.p.differ("refused: %v", err)
	case answer == lnd.Accept || d.recv:
		ni.complete(d)
	}
}

func (ni *driverNI) complete(d *delivery) {
	d.Sink.CopyIn(d.data)
	ni.up.Delivered(&d.Delivery, nil)
}

// Recv implements lnd.NI.
func (ni *driverNI) Recv(d *lnd.Delivery) {
	v := d.Driver.(*delivery)
	v.recv = true
	ni.p.clock.AfterFunc(0, func() { ni.complete(v) })
}
