//go:build linux

package docstest

import "strings"

// A stage has the hosts and daemons that some blocks of documents assume, and selects these blocks. The test runs
// them in one shell, in order, on the first host of the stage.
type stage struct {
	name  string
	hosts []member
	// instead has words of documents, each followed by the words that replace it in the test.
	instead []string
	parts   []part
	sweeps  bool // true: the stage runs simulations that take seconds
	// programs of the system that the blocks need. Without one of them the stage is skipped.
	programs []string
}

// A member is a host of a stage, with a daemon, unless the document itself starts the daemon.
type member struct {
	name     string
	address  string // address of eth0; without a prefix length, an address on lo of the first host
	networks string // networks of the host's daemon; "": it has none
	config   string
	args     []string
}

// A part selects some blocks of a document.
type part struct {
	document string
	words    []string // only blocks that contain one of these words; none: all blocks
	before   string   // commands before the part, which a reader of the document has run earlier or runs in another terminal
	after    string
}

const cluster = `
min_reconnectms: 50
max_reconnectms: 200
gossip:
  nids: ['10.0.0.[1-2,7]@tcp']
  interval: 500ms
  cold_start: 1
  key_file: KEY
`

const server = cluster + `
scoll:
  enable: 1
  key_file: KEY
  admin:
    allow_roots: ['10.0.0.[1-2,7]@tcp']
    multicast: news
    actions:
      install:
        run: [/bin/cat]
rmcast:
  enable: 1
  key_file: KEY
  groups:
    news:
      number: 7
      managers: ['10.0.0.[1-2,7]@tcp']
health:
  server: 1
  balance: 0
  key_file: KEY
  times: {ping: 500ms, client: 4s, elect: 1s, evict: 6s, rtt: 20ms, tick: 50ms}
`

const client = `
health:
  client: 1
  servers: ['10.0.0.[1-2,7]@tcp']
  attach: all
  key_file: KEY
  times: {ping: 500ms, client: 4s, elect: 1s, evict: 6s, rtt: 20ms, tick: 50ms}
`

const rack = `
zone:
  name: rack1
  bootstrap: [n17=10.0.0.7@tcp, n2=10.0.0.1@tcp]
  management: [io1=10.0.0.2@tcp]
  key_file: KEY
  node: `

const management = `
zone:
  name: management
  role: supervisor
  node: io1
  bootstrap: [io1=10.0.0.2@tcp]
  key_file: KEY
`

// stages are separate: a block of one stage has no effect on the nodes of others.
var stages = []stage{
	{
		name: "kernel node", programs: []string{"tshark"}, // where the documents have a kernel node, the stage has a node of this repository
		hosts: []member{
			{name: "here", address: "10.0.0.7/24"},
			{name: "other", address: "10.0.0.5/24", networks: "tcp(eth0),o2ib(eth0)"},
		},
		parts: []part{
			{document: "README.md"},
			{document: "docs/tour.md", words: []string{"--capture lnet.pcapng", "kill %1"}},
			{document: "docs/tour.md", words: []string{"--standalone"}},
			{document: "docs/tour.md", words: []string{"10.0.0.5@o2ib"}},
			{document: "docs/o2ib.md", words: []string{"# on both"}},
			{document: "docs/o2ib.md", words: []string{"--capture", "tshark"}},
		},
	},
	{
		name: "three daemons",
		hosts: []member{
			{name: "here", address: "127.0.0.1", networks: "tcp(127.0.0.1)"},
			{name: "other", address: "127.0.0.2", networks: "tcp(127.0.0.2)"},
			{name: "third", address: "127.0.0.3", networks: "tcp(127.0.0.3)"},
		},
		instead: []string{"10.0.0.[1-20]@tcp", "127.0.0.[1-3]@tcp"},
		parts: []part{
			{document: "docs/lnetctl.md"},
			{document: "docs/faults.md"},
			{document: "docs/tour.md", words: []string{"fault add"}, after: "lnetctl fault del --all; lnetctl fault fail _all_ --count 0"},
			{document: "docs/gossip.md", words: []string{"gossipctl init"}, after: "until [ -e run/gossip/health ]; do sleep 0.05; done"},
			{document: "docs/gossip.md", words: []string{"awk"}, after: "gossipctl stop"},
			{document: "docs/tour.md", words: []string{"gossipctl init"}},
		},
	},
	{
		name: "selftest",
		hosts: []member{
			{name: "here", address: "10.0.0.1/24", networks: "tcp(eth0)", config: "selftest: 1\n"},
			{name: "other", address: "10.0.0.2/24", networks: "tcp(eth0)", config: "selftest: 1\n"},
			{name: "third", address: "10.0.0.3/24", networks: "tcp(eth0)", config: "selftest: 1\n"},
		},
		parts: []part{
			{document: "docs/selftest.md", words: []string{"--loop 200"}},
			// These selftests run without an end. The delay of 20 ms per message keeps them from taking the CPU time
			// of other tests.
			{document: "docs/selftest.md", words: []string{"endless", "lst quick"}, before: `for host in $HOSTS; do on "$host" lnetctl fault add latency 20ms; done`},
		},
	},
	{
		name: "diagnosis", programs: []string{"nft"},
		hosts: []member{
			{name: "here", address: "10.0.0.1/24", networks: "tcp(eth0)", args: []string{"--capture", "trace.pcapng"}},
			{name: "other", address: "10.0.0.2/24", networks: "tcp(eth0)"},
		},
		instead: []string{"lnetctl doctor ", "lnetctl doctor --timeout 20s --limit 2m "},
		parts: []part{
			{document: "docs/diagnosis.md", words: []string{"lnetctl"}},
			{document: "docs/diagnosis.md", words: []string{"lnetdump"}, before: `kill "$(cat "$WORK/here/pid")"; while kill -0 "$(cat "$WORK/here/pid")" 2> /dev/null; do sleep 0.05; done`},
		},
	},
	{
		name: "cluster",
		hosts: []member{
			{name: "here", address: "10.0.0.7/24", networks: "tcp(eth0)", config: server + rack + "n17\n", args: []string{"--capture", "trace.pcapng"}},
			{name: "other", address: "10.0.0.1/24", networks: "tcp(eth0)", config: server + rack + "n2\n"},
			{name: "supervisor", address: "10.0.0.2/24", networks: "tcp(eth0)", config: server + management},
			{name: "compute-14", address: "10.0.0.14/24", networks: "tcp(eth0)", config: client + "  name: compute-14\n"},
			{name: "compute-15", address: "10.0.0.15/24", networks: "tcp(eth0)", config: client + "  name: compute-15\n"},
		},
		instead: []string{"5f1d7a84db00d2fce00b31a7fc73224f", "$(victim)"},
		parts: []part{
			{document: "docs/routing.md", words: []string{"lnetctl path", "udsp add"}},
			{document: "docs/tour.md", words: []string{"msg sink"}},
			{document: "docs/membership.md"},
			{document: "docs/tour.md", words: []string{"zone watch"}},
			{document: "docs/tour.md", words: []string{"scollctl ping"}},
			{document: "docs/multicast.md", before: `(until [ -e "$WORK/quiet" ]; do on other scollctl mcast send news again || sleep 0.1; done) > /dev/null 2>&1 &`, after: `touch "$WORK/quiet"`},
			{document: "docs/tour.md", words: []string{"mcast recv"}},
			{document: "docs/keys.md"},
			{document: "docs/client-health.md", words: []string{"client list"}, before: clients},
			{document: "docs/client-health.md", words: []string{"health watch"}, before: losses, after: "unset PATIENCE"},
			{document: "docs/tour.md", words: []string{"server drain"}, before: clients},
			{document: "docs/tour.md", words: []string{"trace.pcapng"}, before: `kill "$(cat "$WORK/here/pid")"; while kill -0 "$(cat "$WORK/here/pid")" 2> /dev/null; do sleep 0.05; done`},
		},
	},
	{
		name: "no daemon", sweeps: true,
		hosts: []member{{name: "here", address: "10.0.0.7/24"}},
		parts: []part{
			{document: "docs/collectives.md", words: []string{"tree show", "tree compare"}},
			{document: "docs/scenarios.md"},
			{document: "docs/gossip-tuning.md"},
			{document: "docs/membership-scale.md"},
			{document: "docs/handlers.md"},
		},
	},
}

// The shell code in clients makes all clients choose this server as their master, because only the
// master may evict them. The shell code in losses evicts a client and kills another one while the commands of a
// document watch the clients.
const (
	clients = `victim() { lnetctl client list | awk '$2 == "compute-14" { print $1 }'; }
for _ in {1..1000}; do lnetctl client list | grep -q 'compute-14 .*connected' && break; sleep 0.05; done
for host in other supervisor; do on $host lnetctl server drain; done
for host in other supervisor; do on $host lnetctl server undrain; done`
	losses = `export PATIENCE=30; (until cat "$WORK"/out* 2> /dev/null | grep -q '^server .*: quorum '; do sleep 0.05; done; lnetctl client evict "$(victim)"; kill -KILL "$(cat "$WORK/compute-15/pid")") > /dev/null &`
)

// claims reports whether a block belongs to a part.
func (p part) claims(document string, b block) bool {
	if p.document != document || (b.language != "sh" || b.mark != "") && !strings.HasPrefix(b.text, "$ ") {
		return false
	}
	for _, word := range p.words {
		if strings.Contains(b.text, word) {
			return true
		}
	}
	return len(p.words) == 0
}
