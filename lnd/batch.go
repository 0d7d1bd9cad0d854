package lnd

// Batcher is an Upcalls that receives in batches. lnet implements it. A driver may leave all of
// this out: then it makes the calls of Upcalls for each message, and sets none of the fields below.
//
// A batch is the messages that came with one read, and that the driver passes to Parse one by one in the
// same Delivery. For these, the driver may
//
//   - set Delivery.More, while it has the beginning of another message. It calls EndBatch before it
//     waits for anything: for bytes, or for Recv of a held message;
//   - set Delivery.Data, if it has the whole payload. Parse may then copy the payload itself and
//     answer Taken;
//   - set Delivery.Repeats, so that lnet need not judge the same header fields again;
//   - call Again, once, for all messages that follow and are equal to the latest one.
type Batcher interface {
	Upcalls
	// EndBatch ends a batch in which a message had More set. lnet does what it has put off during the
	// batch, and keeps no reference to the Delivery. The driver may call it while lnet holds a message.
	EndBatch(d *Delivery)
	// Again reports whether lnet has taken n further messages, all equal to the latest one, which the
	// driver then does not pass to Parse. The driver may call it if Parse has answered Taken to the
	// latest message, which has no payload, and if it has the beginning of a further message behind
	// each of the n. If Again reports false, the driver passes the n messages to Parse.
	Again(d *Delivery, n int) bool
}
