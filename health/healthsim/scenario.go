package healthsim

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"ulnet/health"
	"ulnet/lnd/sim/scenario"
	"ulnet/portals/keyring"
)

// Protocol is client health for scenarios.
var Protocol = &scenario.Protocol{
	Name:    "health",
	Summary: "clients and their masters: who is gone is evicted by all servers at once",
	Options: []scenario.Option{
		{Name: "servers", Default: "5", Kind: scenario.Count, Least: 1, Doc: "how many of the first nodes are servers; the others are clients"},
		{Name: "attach", Default: "all", Kind: scenario.Word, Doc: "to how many servers a client connects besides its master, or all"},
		{Name: "ping", Default: "5s", Kind: scenario.Duration, Doc: "the ping interval, from which all times follow"},
		{Name: "evict", Default: "0s", Kind: scenario.Duration, Doc: "after how long without a word a master evicts a client; 0s: 3.5 ping intervals"},
		{Name: "quorum-loss", Default: "0s", Kind: scenario.Duration, Doc: "for how long a server must be cut off until it evicts its clients; 0s: a ping interval"},
		{Name: "discovery", Default: "3.4s", Kind: scenario.Duration, Doc: "servers hear of a death within this time, four fifths of it at the soonest; at the level of machines"},
		{Name: "gossip", Default: "0s", Kind: scenario.Duration, Doc: "the interval of real gossip, which then is discovery; 0s: 200ms at the level of stacks, none at that of machines"},
		{Name: "store", Default: "3ms", Kind: scenario.Duration, Doc: "what a write to a server's disk takes; 0s: nothing is written, at the level of machines"},
		{Name: "late", Default: "0%", Kind: scenario.Probability, Doc: "how often a request to evict comes once more, up to 40 s later; at the level of machines"},
		{Name: "unsent", Default: "0%", Kind: scenario.Probability, Doc: "how often a broadcast cannot be sent; at the level of machines"},
		{Name: "claims", Default: "off", Kind: scenario.Switch, Doc: "servers demand proof that a client's master agreed"},
	},
	Verbs: []scenario.Verb{
		{Name: "drain", Args: []scenario.Arg{onArg}, Doc: "the server has its clients choose other masters, and takes none; or again"},
		{Name: "shed", Args: []scenario.Arg{{Name: "number", Kind: scenario.Count, Least: 1}}, Doc: "the server asks so many clients to choose another master"},
		{Name: "evict", Args: []scenario.Arg{{Name: "client", Kind: scenario.Node}}, Doc: "the server evicts the client, if it is its master"},
		{Name: "disk", Args: []scenario.Arg{{Name: "state", Kind: scenario.Choice, Choices: []string{"works", "broken"}}}, Doc: "writes to the server's disk fail, or work again"},
		{Name: "attach", Args: []scenario.Arg{serversArg}, Doc: "the client connects to these servers, too"},
		{Name: "detach", Args: []scenario.Arg{serversArg}, Doc: "the client leaves these servers"},
		{Name: "doubt", Doc: "the client uses all its connections, and so sees which of them are gone"},
		{Name: "busy", Args: []scenario.Arg{onArg}, Doc: "the client exchanges other messages with its master once per second; at the level of machines"},
		{Name: "traffic", Args: []scenario.Arg{onArg}, Doc: "other programs of the client's node exchange messages with all servers once per second"},
		{Name: "quit", Doc: "the client ends without a word, and other programs of its node go on"},
		{Name: "clientless", Args: []scenario.Arg{onArg}, Doc: "the node's later incarnations have no client, but other programs that exchange messages with all servers once per second; or they have one"},
		{Name: "leave", Doc: "the client disconnects from all servers"},
		{Name: "impersonate", Args: []scenario.Arg{{Name: "client", Kind: scenario.Node}}, Doc: "the client ends without a word, and begins anew with the id of another one"},
	},
	Conditions:   conditions.Declared(),
	Series:       series,
	Levels:       []scenario.Level{scenario.Machines, scenario.Stacks},
	LeastNodes:   2,
	CheckEvery:   100 * time.Millisecond,
	BytesPerNode: bytesPerNode,
	New:          newInstance,
}

var onArg = scenario.Arg{Name: "state", Kind: scenario.Choice, Choices: []string{"on", "off"}}

// bytesPerNode estimates the memory of a node. Machines need it mostly for the connections of
// clients, at both ends.
func bytesPerNode(level scenario.Level, nodes int, o scenario.Values) int64 {
	servers := min(int64(o.Int("servers")), int64(nodes))
	clients := int64(nodes) - servers
	perClient := 3000 + 900*min(servers, int64(attachOf(o["attach"], int(servers)))+1)
	perServer := 40<<10 + 200*servers
	if level == scenario.Stacks { // most of the memory is buffers of gossip and health
		perServer += 6<<20 + 5000*(min(clients, 1000)+servers)
		perClient += 64<<10 + 5000*servers
	}
	return (perClient*clients + perServer*servers) / int64(nodes)
}

// attachOf converts the option attach.
func attachOf(text string, servers int) int {
	if count, err := strconv.Atoi(text); err == nil {
		return min(count, servers)
	}
	return servers // connect to all servers
}

func newInstance(s *scenario.Setup) (scenario.Instance, error) {
	o, attach := s.Options, s.Options["attach"]
	servers := o.Int("servers")
	if servers > s.Nodes {
		return nil, fmt.Errorf("%d of %d nodes cannot be servers: set servers to less", servers, s.Nodes)
	}
	if _, err := strconv.ParseUint(attach, 10, 31); err != nil && attach != "all" {
		return nil, fmt.Errorf("set attach %s: want a number of servers, or all", attach)
	}
	cfg := config{
		Network: s.Network, servers: servers, clients: s.Nodes - servers,
		timing: health.Timing{Ping: o.Duration("ping"), Evict: o.Duration("evict"), Quorum: o.Duration("quorum-loss")},
		attach: attachOf(attach, servers), discovery: max(o.Duration("discovery"), 1), gossip: o.Duration("gossip"),
		store: o.Duration("store"), late: o.Float("late"), unsent: o.Float("unsent"), stacks: s.Level == scenario.Stacks,
	}
	if cfg.stacks {
		cfg.gossip = cmp.Or(cfg.gossip, 200*time.Millisecond)
	}
	if o.On("claims") {
		cfg.claimKeys, _ = keyring.NewKeys([]byte("a key of scenarios"))
	}
	return newNet(cfg)
}
