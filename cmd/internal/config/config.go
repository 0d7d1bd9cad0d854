// Package config reads the configuration of lnetd: a strict, flat YAML file
// whose keys are the names of Lustre's module tunables where there is one,
// command line flags that override it, and the paths of files.
//
// [Reference] lists every key with its default and what it means. Anything else in the file is
// an [Error] with line and column.
package config

import (
	"log/slog"
	"time"

	"ulnet/cmd/internal/drivers"
	"ulnet/lnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/udsp"
)

// Config is the configuration of one node. Default returns its defaults; the
// comment of each field begins with its key in the file.
type Config struct {
	Networks           string        // networks: see networks.Parse
	IP2Nets            string        // ip2nets: see networks.ForAddresses; in place of networks
	TransactionTimeout time.Duration // lnet_transaction_timeout, in seconds
	RetryCount         int           // lnet_retry_count: how often a message is sent again
	HealthSensitivity  int           // lnet_health_sensitivity: by how much a failure lowers an NI's health
	RecoveryLimit      time.Duration // lnet_recovery_limit, in seconds; 0: no limit
	RecoveryInterval   time.Duration // lnet_max_recovery_ping_interval, in seconds
	DiscoveryDisabled  bool          // lnet_peer_discovery_disabled: peers are not discovered
	ResponseTracking   int           // lnet_response_tracking, see lnet.Config
	NUMARange          int           // lnet_numa_range: kept and shown, without effect
	MaxInterfaces      int           // lnet_interfaces_max: how many NIs a peer may have
	SourceCheck        bool          // source_check: drop messages whose source is not the peer of their connection
	PeerIdle           time.Duration // lnet_peer_idle_timeout, in seconds; 0: never

	Forwarding string  // forwarding: enabled, disabled or empty, which means that the routes decide
	Routing    Routing // routing: settings of the node as a router

	drivers.Settings // accept, accept_port, multicast and others

	PeerTimeout       time.Duration // peer_timeout, in seconds
	PeerCredits       int           // peer_credits: messages in flight to a peer
	PeerBufferCredits int           // peer_buffer_credits: router buffers of a peer; 0: as many as peer_credits says
	Credits           int           // credits: messages in flight of an NI

	drivers.Set // sections and tunables of each driver

	UDSP []udsp.Rule // udsp: selection rules, in their order

	Routes // routes and their tunables

	Sections Sections // sections of lnetctl's files

	Faults    []string // faults: statements of package fault
	FaultSeed int      // fault_seed: seed of random faults; 0: chosen at the start

	Gossip Gossip // gossip: section of gossip
	Scoll  Scoll  // scoll: section of collectives
	Rmcast Rmcast // rmcast: section of reliable multicast
	Health Health // health: section of client health
	Zone   Zone   // zone: section of the zone

	Selftest      bool   // selftest: the node is a test node of lnet_selftest
	SelftestAllow string // selftest_allow: nodes that may test; empty: those on the networks of the node

	Metrics      string // metrics: address at which metrics are served; empty: none
	MetricsPeers int    // metrics_peers: peers with metrics of their own
	MetricsNames string // metrics_hosts: names and addresses that requests may have as their Host header, besides the hostname, localhost and the address that they reach
	MetricsPage  string // metrics_page: when the page for browsers is served beside the metrics: local, on or off
	MetricsToken string // metrics_capture_token: file with the token for captures by the page; empty: none

	Handlers []Handler // handlers, in the order of the file

	Modprobe string // modprobe: file or folder with options of Lustre's modules; empty: none
	LNetConf string // lnet_conf: file in the YAML of lnetctl to import at the start and when LNet is configured again; empty: none

	Socket     string // socket: path of the control interface; empty: in RuntimeDir
	StateDir   string // state_dir: folder of what outlives a restart; empty: the usual path
	RuntimeDir string // runtime_dir: folder of sockets and state files; empty: the usual path

	Capture      string        // capture: pcapng file to write; empty: none
	CaptureSize  int           // capture_size: largest file in MiB; 0: any size
	CaptureTime  time.Duration // capture_time: longest time of a file; 0: any time
	CaptureFiles int           // capture_files: number of older files that are kept

	LogLevel  slog.Level // log_level: debug, info, warn, error
	LogFormat string     // log_format: text or json
}

// The formats of the log.
const (
	LogText = "text" // NAME=VALUE pairs
	LogJSON = "json" // a JSON object on each line
)

// Default returns the configuration of a node without a file: Lustre's
// defaults.
func Default() Config {
	return Config{
		Networks:           "tcp",
		TransactionTimeout: 150 * time.Second,
		RetryCount:         2,
		HealthSensitivity:  100,
		RecoveryInterval:   900 * time.Second,
		ResponseTracking:   3,
		MaxInterfaces:      200,
		SourceCheck:        true,
		PeerIdle:           10 * time.Minute,
		Routing:            defaultRouting(),
		PeerTimeout:        180 * time.Second,
		PeerCredits:        8,
		Credits:            256,
		Settings: drivers.Settings{
			AcceptPort: 988, AcceptBacklog: 127, AcceptTimeout: 5 * time.Second, SourceAddress: string(socklnd.SourceAddressCheck),
			Multicast: true, MulticastBase: "239.76.0.0", MulticastBase6: "ff15::4c4e:0", MulticastTTL: 1, MulticastRxBuffer: 4 << 20,
		},
		Set:          drivers.Default(),
		Routes:       defaultRoutes(),
		CaptureFiles: 1,
		LogFormat:    LogText,
		MetricsPeers: 1000, MetricsPage: PageLocal,
		Gossip: defaultGossip(),
		Scoll:  defaultScoll(),
		Rmcast: defaultRmcast(),
		Health: defaultHealth(),
		Zone:   defaultZone(),
	}
}

// LND returns the tunables that all drivers share.
func (c *Config) LND() lnd.Tunables {
	return lnd.Tunables{
		PeerTimeout: c.PeerTimeout, PeerCredits: c.PeerCredits,
		PeerBufferCredits: c.PeerBufferCredits, Credits: c.Credits,
	}
}
