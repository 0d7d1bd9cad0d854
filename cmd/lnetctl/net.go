package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/recovery"
	"ulnet/lnet/udsp"
)

func netCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "net", Short: "Networks and interfaces of the node"}
	c.AddCommand(netShow(g), netAdd(g), netDel(g), netSet(g))
	return c
}

func netShow(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "show [--net NET] [-v [LEVEL]]",
		Short: "Show networks and interfaces, and whose connections they accept",
		Long: `Shows the interfaces of the node by network, with the keys of the kernel's
tool; cause, for, accept, source_address, provider, listen, source_check (shown
where it is off), multicast, verbs, connections and reasons are ours. status is
what peers are told: with "down" cause says why. fatal_error is 1 when the link is
down, and messages take other interfaces. -v adds statistics, tunables, how long the status has been as it
is, if it ever changed, and what multicast there is and did, -v 2 statistics by type
of message and health, -v 3 the device of RDMA, connections, and why some were
refused or ended. --json prints the same keys.`,
		Example: "  lnetctl net show --net tcp -v 2",
	}
	level := addVerbose(c)
	only := c.Flags().StringP("net", "n", "", "only this `NET`, such as tcp or tcp1")
	c.RunE = func(c *cobra.Command, args []string) error {
		rest, err := takeLevel(c, level, args)
		if err == nil {
			err = cli.Args()(c, rest)
		}
		if err != nil {
			return err
		}
		s, err := node.OpStatus.Call(c.Context(), g.client(), control.None{})
		if err != nil {
			return err
		}
		if err := downError(s); err != nil {
			return netlinkError("show", "net", -int(syscall.ENETDOWN), "Unspecific failure", err)
		}
		warnOfFaults(c.ErrOrStderr(), s)
		rules, err := g.rulesFor(c.Context(), *level)
		if err != nil {
			return err
		}
		return printNets(c, g, s, rules, *only, *level)
	}
	return c
}

// printNets prints all nets, or one.
func printNets(c *cobra.Command, g *globals, s node.Status, rules udsp.List, only string, level int) error {
	docs := netDocs(s, level)
	addUDSP(docs, rules, level)
	if only != "" {
		want, err := nid.ParseNet(only)
		if err != nil {
			return netlinkError("show", "net", -2, "Object not found", cli.Usagef("--net: %w", err))
		}
		docs = slices.DeleteFunc(docs, func(d netDoc) bool { return d.Type != want.String() })
		if len(docs) == 0 {
			err := cli.Hint(fmt.Errorf("the node has no interface on %v", want), "'lnetctl net show' lists its networks")
			return netlinkError("show", "net", -3, "Network is down", err)
		}
	}
	return cli.Print(c.OutOrStdout(), g.json, struct {
		Net []netDoc `json:"net"`
	}{docs})
}

// The documents of net show have the keys of the kernel's tool, and some of ours.
type netDoc struct {
	Type string  `json:"net type"`
	NIs  []niDoc `json:"local NI(s)"`
}

type niDoc struct {
	NID           nid.NID           `json:"nid"`
	Status        string            `json:"status"`          // up or down
	Cause         string            `json:"cause,omitempty"` // of status down
	For           string            `json:"for,omitempty"`   // since the status changed, as 12s
	Interfaces    map[string]string `json:"interfaces,omitempty"`
	Accept        string            `json:"accept,omitempty"`
	SourceAddress string            `json:"source_address,omitempty"`
	Provider      string            `json:"provider,omitempty"` // of RDMA
	Listen        string            `json:"listen,omitempty"`
	SourceCheck   string            `json:"source_check,omitempty"` // only off is shown
	Statistics    *statisticsDoc    `json:"statistics,omitempty"`
	UDSP          *udspInfoDoc      `json:"udsp info,omitempty"`
	Sent          *lnet.TypeCounts  `json:"sent_stats,omitempty"`
	Received      *lnet.TypeCounts  `json:"received_stats,omitempty"`
	Dropped       *lnet.TypeCounts  `json:"dropped_stats,omitempty"`
	Health        *healthDoc        `json:"health stats,omitempty"`
	Tunables      *tunablesDoc      `json:"tunables,omitempty"`
	LND           json.RawMessage   `json:"lnd tunables,omitempty"`
	Multicast     *multicastDoc     `json:"multicast,omitempty"`
	DevCPT        *int              `json:"dev cpt,omitempty"`
	CPT           string            `json:"CPT,omitempty"`
	Verbs         *drivers.Verbs    `json:"verbs,omitempty"`
	Connections   *int              `json:"connections,omitempty"`
	Reasons       map[string]uint64 `json:"reasons,omitempty"` // why connections were refused or ended
}

type statisticsDoc struct {
	Send uint64 `json:"send_count"`
	Recv uint64 `json:"recv_count"`
	Drop uint64 `json:"drop_count"`
}

func newStatisticsDoc(t lnet.Traffic) *statisticsDoc {
	return &statisticsDoc{t.Sent.Total(), t.Received.Total(), t.Dropped.Total()}
}

type tunablesDoc struct {
	PeerTimeout       int `json:"peer_timeout"` // seconds
	PeerCredits       int `json:"peer_credits"`
	PeerBufferCredits int `json:"peer_buffer_credits"`
	Credits           int `json:"credits"`
}

// healthDoc has the health statistics of an NI. fatal_error is 1 without a link.
type healthDoc struct {
	FatalError int    `json:"fatal_error"`
	Value      int    `json:"health value"`
	Interrupts uint64 `json:"interrupts"`
	Dropped    uint64 `json:"dropped"`
	Aborted    uint64 `json:"aborted"`
	NoRoute    uint64 `json:"no route"`
	Timeouts   uint64 `json:"timeouts"`
	Error      uint64 `json:"error"`
	PingCount  int    `json:"ping_count"`
	NextPing   int    `json:"next_ping"` // seconds from now; 0: none
}

func newHealthDoc(ni node.NIStatus, s node.Status) *healthDoc {
	f := ni.Failures
	doc := &healthDoc{
		Value: ni.NISnapshot.Health, Interrupts: f.LocalInterrupt, Dropped: f.LocalDropped, Aborted: f.LocalAborted,
		NoRoute: f.LocalNoRoute, Timeouts: f.LocalTimeout, Error: f.LocalError,
	}
	doc.PingCount, doc.NextPing = nextPing(s.Recovery.Local, ni.NID, s.Clock)
	if ni.Fatal {
		doc.FatalError = 1
	}
	return doc
}

// nextPing returns how often an NI was pinged that is not well, and in how many seconds it
// will be.
func nextPing(list []recovery.Status, id nid.NID, now time.Duration) (count, seconds int) {
	for _, s := range list {
		if s.NID == id {
			return s.Count, int(math.Ceil(max(s.Next-now, 0).Seconds()))
		}
	}
	return 0, 0
}

// The CPU partitions of a machine that has one, as the kernel's tool shows
// them.
const (
	onlyCPT  = 0
	onlyCPTs = "[0]"
)

// netDocs groups the NIs by net, in the order of configuration.
func netDocs(s node.Status, level int) []netDoc {
	docs := []netDoc{}
	index := map[string]int{}
	for _, ni := range s.NIs {
		i, ok := index[ni.Net]
		if !ok {
			i = len(docs)
			index[ni.Net] = i
			docs = append(docs, netDoc{Type: ni.Net})
		}
		doc := newNIDoc(ni, s, level)
		if !s.SourceCheck && !ni.NID.IsLo() {
			doc.SourceCheck = "off"
		}
		docs[i].NIs = append(docs[i].NIs, doc)
	}
	return docs
}

func newNIDoc(ni node.NIStatus, s node.Status, level int) niDoc {
	doc := niDoc{NID: ni.NID, Status: ni.Status, Cause: ni.Cause}
	if ni.Interface != "" {
		doc.Interfaces = map[string]string{"0": ni.Interface}
	}
	own := &ni.LND
	doc.Accept, doc.SourceAddress, doc.Provider, doc.Listen = own.Accept, own.SourceAddress, own.Provider, own.Listen
	if level >= 1 {
		if ni.For > 0 {
			doc.For = ni.For.Truncate(time.Second).String()
		}
		doc.Statistics = newStatisticsDoc(ni.Traffic)
		doc.Tunables = &tunablesDoc{
			int(ni.Tunables.PeerTimeout.Seconds()), ni.Tunables.PeerCredits,
			ni.Tunables.PeerBufferCredits, ni.Tunables.Credits,
		}
		if ni.NID.IsLo() {
			doc.Tunables = &tunablesDoc{} // it has none
		}
		doc.LND = own.Tunables
		doc.DevCPT, doc.CPT = new(onlyCPT), onlyCPTs
	}
	doc.Multicast = newMulticastDoc(ni.Groups, own.Multicast, level)
	if level >= 2 {
		doc.Sent, doc.Received, doc.Dropped = &ni.Traffic.Sent, &ni.Traffic.Received, &ni.Traffic.Dropped
		doc.Health = newHealthDoc(ni, s)
	}
	if level >= 3 {
		doc.Verbs, doc.Reasons = own.Verbs, own.Reasons
		if own.Tunables != nil { // nil of 0@lo
			doc.Connections = &own.Connections
		}
	}
	return doc
}

// multicastDoc is multicast of an NI; without -v only the joined groups, if there are any.
type multicastDoc struct {
	Groups []lnet.GroupSnapshot `json:"groups,omitempty"`
	*drivers.Multicast
}

// newMulticastDoc returns nil if there is nothing to show.
func newMulticastDoc(groups []lnet.GroupSnapshot, has *drivers.Multicast, level int) *multicastDoc {
	if level < 1 {
		has = nil
	}
	if groups == nil && has == nil {
		return nil
	}
	return &multicastDoc{groups, has}
}
