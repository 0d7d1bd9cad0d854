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

// ServiceID is the number of the service, on all servers.
const ServiceID scoll.ServiceID = 2

// groupID names the group of all servers.
var groupID = scoll.OOBID{High: 0x6865616c7468, Low: 1}

// entity is what each server has of the group: itself.
var entity = []scoll.Entity{{1}}

// Config configures a [Broadcaster].
type Config struct {
	// Agent takes part in collectives. Required; stop it after Close.
	Agent *scoll.Agent
	// Servers are all servers of the cluster, this one included, in any order and
	// the same everywhere. None: broadcasts fail until SetServers.
	Servers []nid.NID
	// Tree is that of broadcasts of this server. The zero value is the binomial
	// one.
	Tree scoll.Tree
	// Processing is how long a server may take to answer, besides the way
	// (health.Timing.Broadcast). Default 1 s.
	Processing time.Duration
	// MaxMemory bounds the buffers for answers to requests of others, in bytes.
	// Default 64 MiB.
	MaxMemory int64
	// Clock calls back when a broadcast could not begin. Required.
	Clock machine.Clock
	Log   *slog.Logger // nil discards
}

// Broadcaster is a health.Broadcaster over collectives. Methods are safe for
// concurrent use.
type Broadcaster struct {
	cfg   Config
	group *scoll.Group
	stats counters

	mu      sync.Mutex
	members *scoll.Membership // nil: there are none; guarded by mu
	answer  answerer          // guarded by mu
}

// answerer answers a request of another server.
type answerer func(root nid.NID, request []byte, reply func([]byte))

var _ health.Broadcaster = (*Broadcaster)(nil)

// New registers the service with an agent. Errors are those of SetServers, and
// EALREADY: the agent has one.
func New(cfg Config) (*Broadcaster, error) {
	cfg.Processing = cmp.Or(cfg.Processing, time.Second)
	cfg.MaxMemory = cmp.Or(cfg.MaxMemory, 64<<20)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	b := &Broadcaster{cfg: cfg}
	if err := b.SetServers(cfg.Servers); err != nil {
		return nil, err
	}
	err := cfg.Agent.RegisterService(scoll.Service{
		ID: ServiceID, PreRequest: b.preRequest, IncomingRequest: b.incomingRequest, Inline: true,
		IncomingReply: b.incomingReply, PostReply: b.postReply, ReplyOut: b.replyOut, MapGroup: b.mapGroup,
		Pinned: true, // there is one, and no flood of others may keep an eviction out
	})
	if err != nil {
		return nil, fmt.Errorf("register the service of client health: %w", err)
	}
	b.group, err = cfg.Agent.OOBGroup(ServiceID, "health", groupID, cfg.Tree, nil)
	return b, err
}

// Close ends the service. Broadcasts under way keep their callbacks.
func (b *Broadcaster) Close() {
	b.Serve(nil)
	b.cfg.Agent.UnregisterService(ServiceID)
}

// SetServers replaces the list of servers, of which ids is one in any order. The
// error says which NIDs cannot be; then the list stays as it is.
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
	if members == nil || b.members == nil || members.Digest() != b.members.Digest() { // scoll compares by identity
		b.members = members
	}
	return nil
}

// Serve implements health.Broadcaster. Without an answer this server is missing
// to others, and owed what it did not hear.
func (b *Broadcaster) Serve(answer func(root nid.NID, request []byte, reply func([]byte))) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

// mapGroup tells collectives who is in a group.
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
