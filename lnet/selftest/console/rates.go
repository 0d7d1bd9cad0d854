package console

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// Traffic is what LNet at some nodes has moved per second, between two samples.
type Traffic struct {
	Nodes         int    `json:"nodes"`          // number of nodes that have both samples
	Received      Figure `json:"received"`       // messages received per second
	Sent          Figure `json:"sent"`           // messages sent per second
	ReceivedBytes Figure `json:"received_bytes"` // bytes of payload received per second
	SentBytes     Figure `json:"sent_bytes"`     // bytes of payload sent per second
}

// Figure sums up a quantity of several nodes.
type Figure struct {
	Avg float64 `json:"avg"` // average of the nodes
	Min float64 `json:"min"` // lowest value among the nodes at which it is not 0
	Max float64 `json:"max"` // highest value of the nodes
}

// Rates compares the counters of nodes in two answers to [Console.Stat] (selftest §9). Nodes without counters in both,
// and those that have begun to count anew, as after a restart, are left out. The time between the two samples of a node is the difference of the running times that the node
// reports. If that has not grown, because the node does not count it or has begun a new session, Rates uses elapsed,
// the time that the caller has measured.
func Rates(before, after []Answer, elapsed time.Duration) Traffic {
	earlier := make(map[nid.ProcessID]*wire.StatReply, len(before))
	for i := range before {
		earlier[before[i].ID] = before[i].Stat
	}
	var t Traffic
	for i := range after {
		a, b := earlier[after[i].ID], after[i].Stat
		if a == nil || b == nil || anew(a, b) {
			continue
		}
		seconds := elapsed.Seconds()
		if b.Framework.Running > a.Framework.Running {
			seconds = float64(b.Framework.Running-a.Framework.Running) / 1000
		}
		if seconds <= 0 {
			continue
		}
		t.Nodes++
		t.Received.add(float64(b.LNet.Received-a.LNet.Received) / seconds) // counters may wrap; the differences of unsigned numbers are right all the same
		t.Sent.add(float64(b.LNet.Sent-a.LNet.Sent) / seconds)
		t.ReceivedBytes.add(float64(b.LNet.ReceivedBytes-a.LNet.ReceivedBytes) / seconds)
		t.SentBytes.add(float64(b.LNet.SentBytes-a.LNet.SentBytes) / seconds)
	}
	for _, f := range []*Figure{&t.Received, &t.Sent, &t.ReceivedBytes, &t.SentBytes} {
		f.Avg /= float64(max(t.Nodes, 1))
	}
	return t
}

// anew reports whether a node has begun to count anew between two samples. Its counters of bytes have 64 bits, and do not
// wrap. Those of messages may wrap, but hardly between the samples between which the node has begun a new session.
func anew(a, b *wire.StatReply) bool {
	session := b.Framework.Running < a.Framework.Running
	return b.LNet.ReceivedBytes < a.LNet.ReceivedBytes || b.LNet.SentBytes < a.LNet.SentBytes ||
		session && (b.LNet.Received < a.LNet.Received || b.LNet.Sent < a.LNet.Sent)
}

// add adds the value of a node; Avg is the sum until all are added.
func (f *Figure) add(v float64) {
	f.Avg += v
	f.Max = max(f.Max, v)
	if v != 0 && (f.Min == 0 || v < f.Min) {
		f.Min = v
	}
}
