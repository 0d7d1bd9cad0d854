package collective

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"ulnet/health"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// ServiceID is the number of the collective service, the same on all servers.
const ServiceID scoll.ServiceID = 2

// groupID names the group of all servers.
var groupID = scoll.OOBID{High: 0x6865616c7468, Low: 1}

// entity is the tag of the only entity that each server has in the group.
var entity = []scoll.Entity{{1}}

// Config configures a [Broadcaster].
type Config struct {
	// Agent takes part in collectives. Required; close it after the Broadcaster.
	Agent *scoll.Agent
	// Servers are all servers of the cluster, this one included, in any order. The list must be
	// the same on all servers. If it is empty, broadcasts fail until SetServers.
	Servers []nid.NID
	// Tree is the shape of the tree over which this server broadcasts. The zero value is the
	// binomial tree.
	Tree scoll.Tree
	// Processing is how long a server may take to make its answer; transmission
	// (health.Timing.Broadcast) comes on top. Default 1 s.
	Processing time.Duration
	// MaxMemory bounds the buffers for answers to requests of others, in bytes.
	// Default 64 MiB.
	MaxMemory int64
	// Clock runs the callback of a broadcast that could not be sent. Required.
	Clock machine.Clock
	Log   *slog.Logger // nil: nothing is logged
}

// Broadcaster is a health.Broadcaster over collectives. Methods are safe for concurrent use.
type Broadcaster struct {
	cfg   Config
	group *scoll.Group
	stats counters

	mu      sync.Mutex
	members *scoll.Membership // members of the group, nil if there are none; guarded by mu
	answer  answerer          // guarded by mu
}

// answerer is the function that answers requests of other servers.
type answerer func(root nid.NID, request []byte, reply func([]byte))

var _ health.Broadcaster = (*Broadcaster)(nil)

// New registers the service with an agent. Errors are those of SetServers, and EALREADY if the
// agent already has this service.
func New(cfg Config) (*Broadcaster, error) {
	cfg.Processing = cmp.Or(cfg.Processing, time.Second)
	cfg.MaxMemory = cmp.Or(cfg.MaxMemory, 64<<20)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	b := &Broadcaster{cfg: cfg}
	if err := b.SetServers(cfg.Servers); err != nil {
		return nil, err
	}
	err := cfg.Agent.RegisterService(scoll.Service{
		ID: ServiceID, PreRequest: b.preRequest, IncomingRequest: b.incomingRequest, Inline: true,
		IncomingReply: b.incomingReply, PostReply: b.postReply, ReplyOut: b.replyOut, MapGroup: b.mapGroup,
		Pinned: true, // other groups must not displace this one, however many there are
	})
	if err != nil {
		return nil, fmt.Errorf("register the service of client health: %w", err)
	}
	b.group, err = cfg.Agent.OOBGroup(ServiceID, "health", groupID, cfg.Tree, nil)
	return b, err
}

// Close ends the service. The callbacks of broadcasts that are under way are still called.
func (b *Broadcaster) Close() {
	b.Serve(nil)
	b.cfg.Agent.UnregisterService(ServiceID)
}

// SetServers replaces the list of servers, which may have any order. If the error names invalid
// NIDs, the list stays as it is.
func (b *Broadcaster) SetServers(ids []nid.NID) error {
	var members *scoll.Membership
	if len(ids) > 0 {
		targets := make([]scoll.Target, 0, len(ids))
		for _, id := range slices.SortedFunc(slices.Values(ids), nid.NID.Compare) {
			targets = append(targets, scoll.Target{NID: id, Entities: entity})
		}
		var err error
		if members, err = scoll.NewMembership(targets); err != nil {
			return fmt.Errorf("servers of client health: %w", err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if members == nil || b.members == nil || members.Digest() != b.members.Digest() { // an unchanged list keeps its membership, because scoll compares memberships by pointer
		b.members = members
	}
	return nil
}

// Serve implements health.Broadcaster. While no function is set (answer is nil), other servers
// count this server as missing and ask it again later.
func (b *Broadcaster) Serve(answer func(root nid.NID, request []byte, reply func([]byte))) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

// mapGroup returns the membership of a group to package scoll.
func (b *Broadcaster) mapGroup(id scoll.OOBID) (*scoll.Membership, error) {
	if id != groupID {
		return nil, scoll.ENOGROUP
	}
	return b.servers(), nil
}

func (b *Broadcaster) servers() *scoll.Membership {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.members
}

func (b *Broadcaster) server() answerer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answer
}
