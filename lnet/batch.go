package lnet

import (
	"sync"

	"ulnet/lnd"
	"ulnet/lnet/wire"
)

// batch is what lnet keeps while it receives a batch, see lnd.Batcher: what it has found out about
// the sender, and counts that are not added to the counters yet. While there is one, the NI is not
// removed, because answers may follow.
type batch struct {
	peer     *peerNI // the sender of the latest message, if the next message need not be checked when it has the same header; else nil
	nis      *[]*NI  // the NIs of this node when the sender was checked
	known    *Peer   // what discovery knew of the sender when its latest message was checked
	received [wire.Hello + 1]uint64
	length   int // number of payload bytes of the messages in received
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// judged notes the result of checking a message of a batch, so that the next one need not be checked
// if it repeats the header.
func (ni *NI) judged(d *lnd.Delivery, accepted bool) {
	b, ok := d.Batch.(*batch)
	if !ok {
		if ni.stopping.Load() {
			// The NI is being removed: messages go on without a batch, because a flood of batches would keep
			// RemoveNI waiting.
			return
		}
		b = batches.Get().(*batch)
		d.Batch = b
		ni.pending.Add(1)
	}
	p, ok := d.Cache.(*peerNI)
	if ok && accepted && d.Header.SrcNID == p.nid {
		b.peer, b.nis, b.known = p, ni.node.nis.Load(), p.known.Load()
	}
}

// forget adds the counts of a batch to the counters, and makes lnet check the next message of the batch
// even if it repeats the latest header.
func (ni *NI) forget(b *batch) {
	ni.addCounts(b)
	b.peer = nil
}

// repeats reports whether a message whose header is that of the message before it need not be checked,
// because nothing has changed that the checks depend on.
func (ni *NI) repeats(d *lnd.Delivery) bool {
	b, ok := d.Batch.(*batch)
	return ok && b.peer != nil && !b.peer.evicted.Load() && b.known == b.peer.known.Load() &&
		b.nis == ni.node.nis.Load() && !ni.node.failing.armed.Load() && d.Header.Validate() == nil
}

// Received counts a message that the upper layer takes in Arrive. The upper layer calls it before it delivers
// the event.
func (ni *NI) Received(d *lnd.Delivery) {
	ni.heal()
	p, _ := d.Cache.(*peerNI)
	if p != nil {
		p.heal()
	}
	b, ok := d.Batch.(*batch)
	if ok && b.peer != nil {
		b.received[d.Header.Type]++
		b.length += d.Sink.Length
		if !d.More {
			ni.addCounts(b)
		}
		return
	}
	ni.traffic.countReceived(d.Header.Type, d.Sink.Length)
	if p != nil {
		p.traffic.countReceived(d.Header.Type, d.Sink.Length)
	}
}

// CountAcks counts ACKs of a batch that the upper layer has taken in Arrive: those that it has found to
// be awaited, and others that it drops.
func (ni *NI) CountAcks(d *lnd.Delivery, taken, dropped int, why DropReason) {
	p, _ := d.Cache.(*peerNI)
	if taken > 0 {
		ni.heal()
		ni.traffic.received[wire.Ack].Add(uint64(taken))
		if p != nil {
			p.heal()
			p.traffic.received[wire.Ack].Add(uint64(taken))
		}
	}
	if dropped > 0 {
		ni.node.drops[why].Add(uint64(dropped))
		ni.traffic.dropped[wire.Ack].Add(uint64(dropped))
		if p != nil {
			p.traffic.dropped[wire.Ack].Add(uint64(dropped))
		}
	}
}

// addCounts adds the counts of a batch to the counters.
func (ni *NI) addCounts(b *batch) {
	if b.peer == nil {
		return
	}
	for typ, n := range b.received {
		if n > 0 {
			ni.traffic.received[typ].Add(n)
			b.peer.traffic.received[typ].Add(n)
		}
	}
	if b.length > 0 {
		ni.traffic.recvLength.Add(uint64(b.length))
		b.peer.traffic.recvLength.Add(uint64(b.length))
	}
	clear(b.received[:])
	b.length = 0
}

// Again implements lnd.Batcher.
func (ni *NI) Again(d *lnd.Delivery, n int) bool {
	return ni.repeats(d) && ni.node.upper.Again(d, n)
}

// EndBatch implements lnd.Batcher.
func (ni *NI) EndBatch(d *lnd.Delivery) {
	if d.Upper != nil {
		ni.node.upper.EndBatch(d)
	}
	b, ok := d.Batch.(*batch)
	if !ok {
		return
	}
	ni.addCounts(b)
	*b = batch{}
	d.Batch = nil
	batches.Put(b)
	ni.ended()
}
