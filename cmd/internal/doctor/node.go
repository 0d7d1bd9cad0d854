package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// Node is the daemon that is examined.
type Node interface {
	Status(ctx context.Context) (node.Status, error)                      // returns the state of the node
	Peers(ctx context.Context) ([]lnet.PeerSnapshot, error)               // returns all peers, ordered by NID
	Connections(ctx context.Context, net string) ([]drivers.Peer, error)  // returns the peers of a network with their connections
	Ping(ctx context.Context, r node.PingRequest) (node.PingReply, error) // pings a peer
	Members(ctx context.Context, group string) ([]Member, error)          // returns what live members of a group say of themselves, ordered by NID; ErrNoGroups: the node takes no part in collectives
}

// Member is what a member of a group of collectives says of itself.
type Member struct {
	NID    nid.NID       // NID of the member
	Digest string        // digest of the member's configuration; "": the member has not reported it
	Timed  bool          // the member has reported its clock; otherwise Offset and Bound mean nothing
	Offset time.Duration // the member's clock minus this node's clock
	Bound  time.Duration // bound of the error of Offset
}

// errMute is the error of a daemon that has its socket and does not answer.
var errMute = errors.New("lnetd has not answered in time")

// bounded is a daemon with a time limit for each answer.
type bounded struct {
	Node
	limit time.Duration // longest wait for an answer that needs no peers
}

// within calls f with a context that ends after limit. If f fails because of that, the error is errMute.
func within(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := f(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w (%v)", errMute, limit)
	}
	return err
}

func (b bounded) Status(ctx context.Context) (s node.Status, err error) {
	err = within(ctx, b.limit, func(ctx context.Context) error { s, err = b.Node.Status(ctx); return err })
	return s, err
}

func (b bounded) Peers(ctx context.Context) (list []lnet.PeerSnapshot, err error) {
	err = within(ctx, b.limit, func(ctx context.Context) error { list, err = b.Node.Peers(ctx); return err })
	return list, err
}

func (b bounded) Connections(ctx context.Context, net string) (list []drivers.Peer, err error) {
	err = within(ctx, b.limit, func(ctx context.Context) error { list, err = b.Node.Connections(ctx, net); return err })
	return list, err
}

func (b bounded) Ping(ctx context.Context, r node.PingRequest) (reply node.PingReply, err error) {
	err = within(ctx, b.limit+r.Timeout, func(ctx context.Context) error { reply, err = b.Node.Ping(ctx, r); return err })
	return reply, err
}

func (b bounded) Members(ctx context.Context, group string) (list []Member, err error) {
	err = within(ctx, 2*b.limit, func(ctx context.Context) error { list, err = b.Node.Members(ctx, group); return err })
	return list, err
}

// Daemon returns the daemon behind a control socket.
func Daemon(c *control.Client) Node { return daemon{c} }

type daemon struct{ client *control.Client }

func (d daemon) Status(ctx context.Context) (node.Status, error) {
	return node.OpStatus.Call(ctx, d.client, control.None{})
}

func (d daemon) Peers(ctx context.Context) (list []lnet.PeerSnapshot, err error) {
	r := node.PeersRequest{Limit: node.MaxPeerPage}
	for {
		page, err := node.OpPeers.Call(ctx, d.client, r)
		if err != nil {
			return nil, err
		}
		list = append(list, page.Peers...)
		if page.Next == nil {
			return list, nil
		}
		r.After = *page.Next
	}
}

func (d daemon) Connections(ctx context.Context, net string) ([]drivers.Peer, error) {
	c, err := node.OpConnections.Call(ctx, d.client, node.ConnectionsRequest{Net: net})
	return c.Peers, err
}

func (d daemon) Ping(ctx context.Context, r node.PingRequest) (node.PingReply, error) {
	return node.OpPing.Call(ctx, d.client, r)
}

// Members asks all live members of a group for their configuration and their clock.
func (d daemon) Members(ctx context.Context, group string) (list []Member, err error) {
	byNID := map[nid.NID]int{}
	for _, verb := range []string{"config", "clock"} {
		r, err := d.ask(ctx, group, verb)
		if err != nil {
			return nil, err
		}
		for _, a := range r.Answers {
			i, known := byNID[a.NID]
			if !known {
				i = len(list)
				byNID[a.NID], list = i, append(list, Member{NID: a.NID})
			}
			list[i].take(&a)
		}
	}
	slices.SortFunc(list, func(a, b Member) int { return a.NID.Compare(b.NID) })
	return list, nil
}

// take adds what an answer says.
func (m *Member) take(a *scoll.Answer) {
	m.Digest = cmp.Or(m.Digest, a.Digest)
	if a.OffsetNS != nil && a.BoundNS != nil {
		m.Timed, m.Offset, m.Bound = true, time.Duration(*a.OffsetNS), time.Duration(*a.BoundNS)
	}
}

// ErrNoGroups is the error of a node that takes no part in collectives.
var ErrNoGroups = errors.New("the node takes no part in collectives")

func (d daemon) ask(ctx context.Context, group, verb string) (scoll.BroadcastReply, error) {
	r, err := scoll.OpBroadcast.CallWith(ctx, d.client, scoll.BroadcastRequest{Group: group, Verb: verb, Live: true, TimeoutMS: 2000}, nil)
	if errors.Is(err, syscall.ESRCH) {
		return r, ErrNoGroups
	}
	if err != nil {
		return r, fmt.Errorf("ask group %s: %w", group, err)
	}
	return r, nil
}
