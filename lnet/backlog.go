package lnet

import (
	"fmt"
	"sync/atomic"
	"syscall"
)

// Bounds of the messages that wait for the discovery of their peer or for a
// connection that is being dialled; local policy. Connected peers' queues are
// as long as the senders make them, as in LNet.
const (
	maxBacklog     = 1 << 18 // largest number of messages that wait, of all peers together
	maxPeerBacklog = 1 << 16 // largest number of messages that wait for one peer NI
)

var errBacklog = fmt.Errorf("too many messages wait for the discovery of this peer or for a connection to it: %w", syscall.ENOBUFS)

// backlog counts the messages that wait for discovery or for a connection. No peer may have more waiting
// messages than there are free places in the backlog (the dynamic threshold of shared-memory switches).
// So there is always room for messages to another peer, however many unreachable peers have used up their
// share.
type backlog struct {
	count   atomic.Int64
	refused atomic.Uint64
}

// admit counts the waiting message m. The parameter own is the number of messages that wait already
// for the same peer. If too many wait, for that peer or in all, admit refuses m and returns false.
func (b *backlog) admit(m *Message, own int) bool {
	if int64(own) >= min(maxPeerBacklog, maxBacklog-b.count.Load()) {
		b.refused.Add(1)
		return false
	}
	m.backlog = true
	b.count.Add(1)
	return true
}

// leave ends the wait of m, if it was admitted.
func (b *backlog) leave(m *Message) {
	if m.backlog {
		m.backlog = false
		b.count.Add(-1)
	}
}
