package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// A Rule says what a package may import of this module. Patterns are paths relative to the root,
// several separated by spaces; "x/..." means x and all packages below x.
type Rule struct {
	Package string // a pattern; for a package, the first rule with a matching pattern applies
	May     string // imports allowed in all files
	Tests   string // imports that tests may have in addition
}

// anyLND is a pattern for the packages of drivers that no rule names, which are packages below lnd with an LND, and
// for all packages below them. A new driver needs a rule only if it imports more than they may.
const anyLND = "lnd/LND/..."

// Imports that all drivers share, and imports that all users of the portal API share.
const (
	driverMay = "lnd lnet/nid lnet/wire lnet/machine "
	userMay   = "portals portals/keyring lnet/nid lnet/machine "
	// simulatedMay are the imports of code that adapts a protocol to the simulator.
	simulatedMay = "lnd lnd/link lnd/sim/... lnd/simlnd lnet lnet/nid lnet/wire lnet/machine/... portals "
	// nodesMay are the imports of tests that start agents, which need a node.
	nodesMay = "lnd lnet lnet/discovery lnet/lnetsim portals/node portals/portalstest "
	// testsMay are the imports that tests of every package may have: test harnesses, captures of
	// what a test exchanged, and the two drivers that need no network.
	testsMay = "lnd/lndtest/... lnd/capture/... lnd/lo lnd/link lnd/sim/... lnd/simlnd "
)

// Rules are the arrows of ARCHITECTURE.md: a package imports only packages of lower layers. A
// package without a rule is a failure, because its layer is not decided yet.
var Rules = []Rule{
	{Package: "lnet/nid"},
	{Package: "lnet/latency"},
	{Package: "lnet/machine"},
	{Package: "lnet/machine/record", May: "lnet/machine"},
	{Package: "lnet/machine/timerfd", May: "lnet/machine"},
	{Package: "lnet/wire", May: "lnet/nid"},
	{Package: "lnet/networks", May: "lnet/nid"},
	{Package: "lnet/route", May: "lnet/nid lnet/networks lnet/machine"},
	{Package: "lnet/udsp", May: "lnet/nid lnet/path"},
	{Package: "lnet/faultrule", May: "lnd lnet/nid lnet/wire"},

	{Package: "lnd", May: "lnet/nid lnet/wire lnet/machine"},
	{Package: "lnd/hostaddr"},
	{Package: "lnd/internal/shell", May: "lnd/hostaddr lnet/machine"},
	{Package: "lnd/readloop", May: "lnd lnet/machine"},
	{Package: "lnd/socklnd/ksock", May: "lnet/nid lnet/wire"},
	{Package: "lnd/o2iblnd/kib", May: "lnet/nid lnet/wire"},
	{Package: "lnd/lo", May: driverMay},
	{Package: "lnd/socklnd/...", May: driverMay + "lnd/hostaddr lnd/internal/shell lnd/readloop lnd/socklnd/..."},
	// This package plays recordings against the driver, alone and as part of a whole node, and consists
	// of tests.
	{Package: "lnd/o2iblnd/internal/replay", Tests: driverMay + "lnd/o2iblnd lnd/o2iblnd/kib lnd/verbs/... lnet lnet/discovery portals lnet/selftest lnet/selftest/console lnet/selftest/recording lnet/selftest/wire"},
	{Package: "lnd/o2iblnd/...", May: driverMay + "lnd/internal/shell lnd/o2iblnd/... lnd/verbs", Tests: "lnd/verbs/..."},
	{Package: "lnd/verbs", May: "lnd lnet/nid lnet/machine"},
	{Package: "lnd/verbs/ibta"},
	{Package: "lnd/verbs/softroce", May: "lnd lnd/hostaddr lnd/readloop lnd/verbs lnd/verbs/ibta lnd/verbs/softroce/wire lnet/nid lnet/machine", Tests: "lnd/verbs/verbstest lnd/verbs/softroce/emulator"},
	{Package: "lnd/verbs/softroce/wire"},
	{Package: "lnd/verbs/softroce/emulator", May: "lnd/verbs/softroce/wire lnet/machine"},
	{Package: "lnd/verbs/verbstest", May: "lnd/verbs lnet/machine"},
	{Package: "lnd/verbs/ibv", May: "lnd/verbs", Tests: "lnet/machine lnd/verbs/verbstest"},
	{Package: "lnd/link"},
	{Package: "lnd/linkwatch"},
	{Package: "lnd/sim", May: "lnet/machine lnet/machine/record lnd/link"},
	{Package: "lnd/sim/history", May: "lnd/sim lnd/link", Tests: "lnet/machine"},
	{Package: "lnd/sim/scenario/scenariotest", May: "lnd/sim/scenario lnd/sim/scenario/kit"},
	{Package: "lnd/sim/scenario", May: "lnet/machine lnd/link lnd/sim lnd/sim/history", Tests: "lnd/sim/flood"},
	{Package: anyLND, May: driverMay + "lnd/hostaddr lnd/internal/shell lnd/readloop " + anyLND},
	{Package: "lnd/simlnd", May: driverMay + "lnd/link lnd/sim", Tests: "lnet portals"},
	{Package: "lnd/fault", May: "lnd lnd/link lnet/faultrule lnet/nid lnet/wire lnet/machine", Tests: "lnet lnd/socklnd lnd/o2iblnd lnd/verbs/softroce lnd/lndtest/loopback lnet/discovery portals portals/node"},

	// Protocols for the simulator: only these packages and cmd use the simulator.
	{Package: "lnd/sim/scenario/kit", May: "lnd/link lnd/sim lnd/sim/history lnd/sim/scenario lnd/simlnd lnet/machine/record lnet/nid", Tests: "lnet/machine"},
	{Package: "lnd/sim/flood", May: simulatedMay},
	{Package: "lnet/lnetsim", May: simulatedMay + "lnet/discovery lnet/route lnd/lo"},
	{Package: "lnd/capture/capturetest", May: "lnd/capture/... lnet/nid lnet/wire lnd/lndtest/needs"},
	{Package: "lnd/capture/...", May: "lnd lnd/capture/... lnet/nid lnet/wire lnet/machine lnd/socklnd/ksock lnd/o2iblnd/kib lnd/verbs/ibta"},
	{Package: "lnd/lndtest/mutants", May: "lnd/lndtest/effort"},
	{Package: "lnd/lndtest/effort"},
	{Package: "lnd/lndtest/cputime"},
	{Package: "lnd/lndtest/spec"},
	{Package: "lnd/lndtest/loopback"},
	{Package: "lnd/lndtest/procstate"},
	{Package: "lnd/lndtest/smalldisk"},
	{Package: "lnd/lndtest/netlab/netem", May: "lnet/machine"},
	{Package: "lnd/lndtest/needs"},
	{Package: "lnd/lndtest/netlab", May: "lnd/lndtest/netlab/netem lnd/lndtest/needs"},
	{Package: "lnd/lndtest", May: driverMay + "lnd/capture lnd/sim lnd/simlnd lnd/lndtest/effort"},

	{Package: "lnet/path", May: "lnet/nid"},
	// This package plays recordings against whole stacks, and consists of tests.
	{Package: "lnet/internal/replay", Tests: "lnet lnet/discovery lnet/route lnet/router lnet/path lnet/nid lnet/machine lnet/wire lnd portals lnet/selftest lnet/selftest/console lnet/selftest/recording lnet/selftest/wire lnd/verbs/softroce/emulator"},
	{Package: "lnet/router", May: "lnet/machine"},
	{Package: "lnet", May: "lnet/route lnet/nid lnet/path lnet/recovery lnet/router lnet/wire lnet/machine lnd", Tests: "portals lnet/path"},
	{Package: "portals", May: "lnet lnd lnet/nid lnet/wire lnet/latency lnet/machine", Tests: "portals/node lnet/route"},
	{Package: "portals/keyring", May: "lnet/nid"},
	// This package makes whole nodes: it uses all parts of a node, but nothing that needs a node.
	{Package: "portals/portalstest", May: "portals lnet lnet/nid lnet/machine lnd lnd/lo"},
	{Package: "portals/node", May: "portals lnet lnet/discovery lnet/networks lnet/nid lnet/machine lnet/machine/timerfd lnd lnd/linkwatch lnd/lo lnd/socklnd lnd/o2iblnd lnd/verbs/softroce", Tests: "lnet/route"},
	{Package: "lnet/recovery", May: "lnet/nid lnet/machine lnd"},
	{Package: "lnet/discovery/engine", May: "lnet lnet/nid lnet/wire lnet/machine"},
	{Package: "lnet/discovery", May: "portals lnet lnet/route lnet/path lnet/router lnet/discovery/engine lnet/recovery lnet/nid lnet/wire lnet/machine lnd", Tests: "portals/node"},
	{Package: "lnet/selftest/wire", May: "lnet/nid", Tests: "lnet/wire"},
	{Package: "lnet/selftest/engine", May: "lnet/selftest/wire lnet/nid lnet/machine", Tests: "lnet/wire lnet/selftest/recording"},
	{Package: "lnet/selftest", May: "portals lnd lnet/nid lnet/machine lnet/selftest/engine lnet/selftest/wire", Tests: nodesMay + "lnet/wire"},
	{Package: "lnet/selftest/console/engine", May: "lnet/selftest/wire lnet/nid lnet/machine", Tests: "lnet/selftest/engine lnet/selftest/recording lnet/wire"},
	{Package: "lnet/selftest/console", May: "portals lnd lnet/nid lnet/machine lnet/selftest lnet/selftest/console/engine lnet/selftest/wire", Tests: nodesMay + "lnet/wire"},

	// This package is for the tests that play recordings of lnet_selftest.
	{Package: "lnet/selftest/recording", May: "lnd/capture/... lnet/nid lnet/wire lnet/selftest/wire lnet/selftest/console lnet/selftest/console/engine"},

	{Package: "gossip/wire", May: "portals/keyring"},
	{Package: "gossip/engine", May: "gossip/wire portals/keyring lnet/nid lnet/machine"},
	{Package: "gossip/gossipsim", May: simulatedMay + "gossip gossip/engine gossip/wire lnet/lnetsim"},
	{Package: "gossip/zone/zonesim", May: simulatedMay + "gossip/zone gossip/zone/engine gossip/zone/wire lnet/lnetsim"},
	{Package: "gossip/zone/wire", May: "portals/keyring lnet/nid"},
	{Package: "gossip/zone/engine", May: "gossip/zone/wire portals/keyring lnet/nid lnet/machine"},
	{Package: "gossip/internal/watch", May: "lnet/machine"},
	{Package: "gossip/zone", May: userMay + "gossip/internal/watch gossip/zone/engine gossip/zone/wire", Tests: nodesMay},
	{Package: "gossip", May: userMay + "gossip/engine gossip/internal/watch gossip/wire", Tests: nodesMay + "lnet/wire gossip/gossipsim"},
	{Package: "scoll/scollsim", May: simulatedMay + "scoll scoll/engine scoll/wire scoll/tree lnet/lnetsim"},
	{Package: "scoll/rmcast/rmcastsim", May: simulatedMay + "scoll/rmcast scoll/rmcast/engine scoll/rmcast/wire lnet/lnetsim"},
	{Package: "scoll/tree"},
	{Package: "scoll/collective", May: "scoll lnet/nid", Tests: nodesMay + "portals lnet/machine"},
	{Package: "scoll/rmcast/wire", May: "portals/keyring lnet/nid"},
	{Package: "scoll/rmcast/engine", May: "scoll/rmcast/wire scoll/tree portals/keyring lnet/nid lnet/machine"},
	{Package: "scoll/rmcast", May: userMay + "scoll/rmcast/engine scoll/rmcast/wire", Tests: nodesMay + "gossip lnet/wire"},
	{Package: "scoll/wire", May: "scoll/tree portals/keyring lnet/nid"},
	{Package: "scoll/engine", May: "scoll/wire scoll/tree portals/keyring lnet/nid lnet/machine"},
	{Package: "scoll", May: userMay + "lnet/latency scoll/engine scoll/wire scoll/tree scoll/rmcast", Tests: nodesMay + "lnet/wire"},
	{Package: "health/healthsim", May: simulatedMay + "portals/keyring health health/engine health/wire health/collective gossip gossip/engine scoll scoll/tree lnet/lnetsim"},
	{Package: "health/boltstore", May: "health lnet/nid"},
	{Package: "health/collective", May: userMay + "health health/wire scoll", Tests: nodesMay},
	{Package: "health/wire", May: "portals/keyring lnet/nid"},
	{Package: "health/engine", May: "health/wire portals/keyring lnet/nid lnet/machine"},
	{Package: "health", May: userMay + "lnet/latency health/engine health/wire", Tests: nodesMay},

	// This program tests nodes in network namespaces, and so uses netlab, a harness for tests.
	{Package: "cmd/soak", May: "cmd/internal/... lnet/... portals lnd lnd/lndtest/netlab/..."},
	// This package is the harness of tests that play transcripts on hosts.
	{Package: "cmd/internal/transcript", May: "cmd/internal/... lnd/lndtest/netlab"},

	// Commands may import all protocols and drivers, but of the packages for tests, which are below
	// lnd/lndtest, only those that these lines name.
	{Package: "cmd/bench/worker"},
	{Package: "cmd/bench/rival", May: "cmd/bench/worker"},
	{Package: "cmd/bench/...", May: "cmd/bench/... cmd/internal/... lnet/... portals portals/keyring portals/node gossip/... scoll/... health/... lnd lnd/lo lnd/socklnd/... lnd/o2iblnd/... " +
		"lnd/verbs/... lnd/link lnd/sim/... lnd/simlnd lnd/lndtest/netlab lnd/lndtest/loopback"},
	// A program that imports package encap takes longer to start, so lnetd must not import it.
	{Package: "cmd/lnetdump", May: commandsMay + " lnd/capture/encap"},
	{Package: "cmd/...", May: commandsMay},
}

// commandsMay is what commands may import.
const commandsMay = "cmd/... lnet/... portals portals/keyring portals/node gossip/... scoll/... health/... lnd " + anyLND + " lnd/lo lnd/socklnd/... lnd/o2iblnd/... " +
	"lnd/verbs/... lnd/capture lnd/capture/analyze lnd/hostaddr lnd/fault lnd/link lnd/sim/... lnd/simlnd lnd/lndtest/loopback lnd/lndtest/procstate lnd/lndtest/effort"

// A Limit names an import from outside the module that only some packages may use.
type Limit struct {
	Import string // pattern of the paths that are imported
	Within string // patterns of packages all of whose files may use it
	Tests  string // patterns of packages whose tests may use it
}

// systemCallers are the only packages that open sockets and make system calls.
const systemCallers = "lnet/machine/timerfd lnd/readloop lnd/linkwatch lnd/socklnd lnd/o2iblnd lnd/o2iblnd/internal/replay lnd/verbs/softroce lnd/verbs/ibv lnd/lndtest/cputime lnd/lndtest/netlab lnd/lndtest/smalldisk cmd/internal/... cmd/bench/..."

// The packages that may import gopacket/layers, directly or through another package of gopacket, and
// the packages whose tests may. Importing gopacket/layers costs every process 6 MB and tens of
// milliseconds.
const (
	withGopacket  = "lnd/capture/encap cmd/lnetdump"
	gopacketTests = "lnd/capture/... lnd/verbs/softroce cmd/..."
)

// Limits are the imports that only few packages may use.
var Limits = []Limit{
	{Import: "C", Within: "lnd/verbs/ibv"},
	{Import: "golang.org/x/sys/...", Within: systemCallers},
	{Import: "golang.org/x/term/...", Within: "cmd/internal/shell"},
	{Import: "syscall", Within: systemCallers + " lnd/... lnet/... portals portals/node health/boltstore cmd/..."},
	{Import: "net", Within: systemCallers + " lnd/... portals/node cmd/...", Tests: "lnet/... portals gossip/..."},
	{Import: "github.com/mdlayher/socket", Within: systemCallers},
	{Import: "github.com/vishvananda/...", Within: systemCallers},
	{Import: "github.com/google/gopacket/layers", Within: withGopacket, Tests: gopacketTests},
	{Import: "github.com/google/gopacket/pcapgo", Within: withGopacket, Tests: gopacketTests},
	{Import: "github.com/google/gopacket/...", Within: "lnd/capture/... cmd/...", Tests: "lnd/verbs/softroce"},
	{Import: "github.com/prometheus/...", Within: "cmd/..."},
	{Import: "github.com/goccy/go-yaml/...", Within: "cmd/..."},
	{Import: "github.com/spf13/...", Within: "cmd/..."},
	{Import: "go.etcd.io/bbolt/...", Within: "health/boltstore"},
	{Import: "log", Within: "", Tests: folders}, // code uses log/slog instead
}

// Arrows returns a line for each import that no rule or limit allows, and for
// each package that no rule names.
func Arrows(pkgs []*Package, rules []Rule, limits []Limit) []string {
	rules = withLNDs(rules, pkgs)
	ours := map[string]bool{}
	for _, p := range pkgs {
		ours[p.Path] = true
	}
	var bad []string
	for _, p := range pkgs {
		i := slices.IndexFunc(rules, func(r Rule) bool { return match(r.Package, p.Path) })
		if i < 0 {
			bad = append(bad, fmt.Sprintf("%s: no rule names this package: add one to Rules in cmd/internal/archtest/arrows_test.go", p.Path))
			continue
		}
		for _, f := range p.Files {
			for _, to := range f.Imports {
				if why := refuse(p.Path, f, to, ours[to], rules[i], limits); why != "" {
					bad = append(bad, fmt.Sprintf("%s imports %s: %s", f.Name, to, why))
				}
			}
		}
	}
	return bad
}

// withLNDs returns rules in which the packages of the drivers stand in the place of anyLND: the rule for anyLND becomes one
// for each driver, and other rules allow the imports of all of them.
func withLNDs(rules []Rule, pkgs []*Package) (with []Rule) {
	var found []string
	for _, p := range pkgs {
		named := slices.ContainsFunc(rules, func(r Rule) bool { return match(r.Package, p.Path) })
		if strings.HasPrefix(p.Path, "lnd/") && hasLND(p) && !named {
			found = append(found, p.Path+"/...")
		}
	}
	for _, r := range rules {
		if r.Package != anyLND {
			with = append(with, Rule{r.Package, strings.ReplaceAll(r.May, anyLND, strings.Join(found, " ")), r.Tests})
			continue
		}
		for _, own := range found {
			with = append(with, Rule{own, strings.ReplaceAll(r.May, anyLND, own), r.Tests})
		}
	}
	return with
}

func refuse(from string, f *File, to string, ours bool, r Rule, limits []Limit) string {
	if ours {
		// A test in an external test package may import the package that it tests.
		if to == from && f.Test || match(r.May, to) || f.Test && match(testsMay+r.Tests, to) {
			return ""
		}
		return fmt.Sprintf("the rule for %s allows %q", r.Package, r.May)
	}
	for _, l := range limits {
		if !match(l.Import, to) || match(l.Within, from) || f.Test && match(l.Tests, from) {
			continue
		}
		return fmt.Sprintf("only %q may", l.Within)
	}
	return ""
}

// match reports whether one of the patterns matches path.
func match(patterns, path string) bool {
	for p := range strings.FieldsSeq(patterns) {
		if p == path {
			return true
		}
		if tree, ok := strings.CutSuffix(p, "/..."); ok && (tree == path || strings.HasPrefix(path, tree+"/")) {
			return true
		}
	}
	return false
}
