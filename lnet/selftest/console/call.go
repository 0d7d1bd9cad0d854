package console

import (
	"errors"
	"log/slog"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
)

// memory is what is posted for an RPC: the memory of its reply and its list of destinations.
type memory struct {
	reply, list portals.MDHandle // 0: none
}

// call posts memory for the reply of an RPC and its list of destinations, and puts its request.
func (c *Console) call(e *engine.Effect) {
	m, err := c.post(e)
	if err != nil {
		c.unlink(m)
		c.failed(e.ID, err)
		return
	}
	c.mu.Lock()
	closed := c.closed && c.commands == nil
	if !closed {
		c.posted[e.ID] = m
	}
	c.mu.Unlock()
	if closed {
		c.unlink(m)
		return
	}
	request := c.outbox.New()
	request.Data = append(request.Data, e.Data...)
	request.Note = e.ID
	c.outbox.Put(request, portals.PutRequest{Target: e.Peer, Portal: int(e.Service.Portal()), MatchBits: uint64(e.Service)})
}

// post posts the memory of an RPC. If it returns an error, m has what it had posted before.
func (c *Console) post(e *engine.Effect) (m memory, err error) {
	id, b := e.ID, make([]byte, wire.MessageSize)
	m.reply, err = c.expose(e.Peer, e.ID, b, portals.OpPut, func(ev *portals.Event) { c.replied(id, b, ev) })
	if err == nil && e.Bits != 0 {
		m.list, err = c.expose(e.Peer, e.Bits, e.List, portals.OpGet, nil)
	}
	return m, err
}

// replied takes the reply to an RPC, which is in b. A reply that was cut off fails the RPC.
func (c *Console) replied(id uint64, b []byte, ev *portals.Event) {
	switch {
	case ev.Kind != portals.EventPut:
	case ev.Err != nil:
		c.failed(id, syscall.EIO)
	default:
		c.runner.Do(engine.Input{Kind: engine.Replied, ID: id, Data: b[:ev.MLength]})
	}
}

// expose posts memory for one message of a node.
func (c *Console) expose(peer nid.ProcessID, bits uint64, b []byte, option portals.MDOption, handle func(*portals.Event)) (portals.MDHandle, error) {
	_, md, err := c.table.Post(wire.BulkPortal, portals.Match{ID: peer, Bits: bits},
		portals.MD{Segments: []lnd.Segment{b}, Threshold: 1, Options: option, Handler: handle}, portals.Unlink)
	return md, err
}

// left is called when a request has left, or cannot be sent.
func (c *Console) left(id uint64, err error) {
	if err != nil {
		c.failed(id, err)
	}
}

// failed reports that the request of an RPC cannot be sent, or that its reply was cut off.
func (c *Console) failed(id uint64, err error) {
	c.log.Debug("selftest console: an RPC has failed", slog.Any("error", err))
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok || errno == 0 {
		errno = syscall.EIO
	}
	c.runner.Do(engine.Input{Kind: engine.Sent, ID: id, Errno: errno})
}

// release unlinks the memory of an RPC.
func (c *Console) release(id uint64) {
	c.mu.Lock()
	m := c.posted[id]
	delete(c.posted, id)
	c.mu.Unlock()
	c.unlink(m)
}

// unlink unlinks memory. It ignores ENOENT: an MD may have unlinked itself already.
func (c *Console) unlink(m memory) {
	for _, md := range [...]portals.MDHandle{m.reply, m.list} {
		if md != 0 {
			_ = c.table.MDUnlink(md)
		}
	}
}
