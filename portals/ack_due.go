package portals

import (
	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// PUTs of a batch (lnd.Batcher) that follow each other mostly come from one MD and have the same length, so
// their ACKs are equal. The table counts such ACKs, and then posts them together: it gives the driver one
// inline message and the number of ACKs for which it stands, which costs less than one message for each ACK.
// Because of that, an ACK waits until the handlers of at most seven later PUTs have returned. Mostly it would
// have waited for them anyway, because the driver sends answers at the end of a batch.

// maxAcksDue is the largest number of ACKs that are posted together. It is small, so that ACKs do not wait
// for the end of a batch whose handlers take long.
const maxAcksDue = 8

// acksDue are ACKs that have not been posted. The zero value has none.
type acksDue struct {
	n      int           // number of ACKs, at most maxAcksDue
	ni     *lnet.NI      // NI at which the PUTs came
	sender nid.ProcessID // process whose connection brought the PUTs
	to     nid.ProcessID // process that sent the PUTs
	ack    wire.AckCmd
}

// owe notes that an ACK is to be sent for a PUT whose event has been delivered. It posts the ACKs that it has
// noted, unless another message of the batch follows, whose ACK may be equal, and fewer than t.acksAtOnce
// ACKs are noted. An ACK that differs from those before it makes owe post these first.
func (t *Table) owe(in *intake, ni *lnet.NI, d *lnd.Delivery, ack wire.AckCmd) {
	due := &in.due
	to := nid.ProcessID{NID: d.Header.SrcNID, PID: d.Header.SrcPID}
	if due.n > 0 && (due.ack != ack || due.to != to) {
		t.payAcks(due)
	}
	if due.n == 0 {
		*due = acksDue{ni: ni, sender: d.From, to: to, ack: ack}
	}
	// Collect the ACK only in a batch that lnet has begun (d.Batch), because RemoveNI waits for the end of
	// such a batch. Outside of a batch, RemoveNI could remove the NI as soon as Arrive has returned, while
	// the ACK still waits here.
	if due.n++; due.n == t.acksAtOnce || !d.More || d.Batch == nil {
		t.payAcks(due)
	}
}

// payAcks posts the ACKs that are collected in due.
func (t *Table) payAcks(due *acksDue) {
	n := due.n
	if n == 0 {
		return
	}
	due.n = 0
	if t.postAcks(due.ni, due.sender, due.to, due.ack, n) {
		return
	}
	for range n {
		o := t.newOperation()
		o.ni, o.Asker = due.ni, due.sender
		t.acknowledge(o, due.to, due.ack)
	}
}
