package main

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/health"
	"ulnet/lnet/nid"
)

func healthCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "health", Short: "Client health: who watches over whom, and who is evicted"}
	c.AddCommand(healthStatus(g), healthWatch(g))
	return c
}

func healthStatus(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "status [-v]",
		Short: "Show what this node does for client health",
		Long: `Shows the node's role in client health: as a server its quorum and why it has none,
its clients, evictions that are on their way, and records; as a client its master and whom it is connected
to; and the times that are in force. -v adds the counters that are not 0; --json has
all of them.`,
		Example: `  lnetctl health status
  lnetctl health status --json | jq .server.quorum`,
		Args: cli.Args(),
	}
	verbose := c.Flags().BoolP("verbose", "v", false, "show counters, too")
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, err := healthmod.OpStatus.Call(c.Context(), g.client(), control.None{})
		if err != nil {
			return err
		}
		return cli.Show(c.OutOrStdout(), g.json, &s, func(w io.Writer, s *healthmod.Status) error {
			return cli.YAML(w, newHealthStatusDoc(s, *verbose))
		})
	}
	return c
}

// healthStatusDoc is the YAML document of the status.
type healthStatusDoc struct {
	Server *serverDoc     `json:"server,omitempty"`
	Client *clientRoleDoc `json:"client,omitempty"`
	Times  timesDoc       `json:"times"`
}

type serverDoc struct {
	NID        nid.NID           `json:"nid"`
	State      string            `json:"state"`
	Quorum     string            `json:"quorum"`
	Draining   bool              `json:"draining"`
	Clients    string            `json:"clients"`
	Evictions  string            `json:"evictions"`
	Tombstones int               `json:"tombstones"`
	Claims     string            `json:"claims"`
	Connects   string            `json:"connects"`
	Records    string            `json:"records"`
	Stats      map[string]uint64 `json:"stats,omitempty"`
}

type clientRoleDoc struct {
	Client      string `json:"client"`
	Name        string `json:"name,omitempty"`
	Incarnation uint64 `json:"life"`
	State       string `json:"state"`
	Master      string `json:"master"`
	Attached    string `json:"attached"`
	// Superseded describes the client's later incarnation on another node.
	Superseded string            `json:"superseded,omitempty"`
	Answers    []string          `json:"answers,omitempty"` // answers of candidates for the master
	Stats      map[string]uint64 `json:"stats,omitempty"`
}

func newHealthStatusDoc(s *healthmod.Status, verbose bool) healthStatusDoc {
	doc := healthStatusDoc{Times: timesDoc(s.Timing)}
	if s.Server != nil {
		doc.Server = newServerDoc(s.Server)
	}
	if s.Client != nil {
		doc.Client = newClientRoleDoc(s.Client)
	}
	if verbose && doc.Server != nil {
		doc.Server.Stats = notZero(s.Server.Stats)
	}
	if verbose && doc.Client != nil {
		doc.Client.Stats = notZero(s.Client.Stats)
	}
	return doc
}

func newServerDoc(s *healthmod.ServerRole) *serverDoc {
	doc := &serverDoc{
		NID: s.Self, State: string(s.State), Quorum: quorum(s), Draining: s.Draining,
		Clients: fmt.Sprintf("%d of %d at most; master of %d; orphaned %d, recovering %d, evicting %d",
			s.Clients, s.MaxClients, s.Mastered, s.Orphaned, s.Recovering, s.Evicting),
		Evictions:  fmt.Sprintf("%d broadcasts on their way, %d connects wait", s.Batches, s.Waiting),
		Tombstones: s.Tombstones, Claims: "off", Connects: "from everyone", Records: "none: nothing survives a restart",
	}
	if s.State == healthmod.Waiting {
		doc.State += " for gossip, see 'gossipctl status'"
	}
	if n := s.Stats["shed"]; n > 0 {
		doc.Clients += fmt.Sprintf("; %d were asked to choose masters that have fewer", n)
	}
	if s.ClaimKeys > 0 {
		doc.Claims = fmt.Sprintf("on, keys: %d", s.ClaimKeys)
	}
	if s.Keys > 0 {
		doc.Connects = fmt.Sprintf("signed only, keys: %d", s.Keys)
	}
	if s.Store != nil {
		doc.Records = records(s.Store)
	}
	return doc
}

// quorum describes the quorum of a server or, if there is none, the reason.
func quorum(s *healthmod.ServerRole) string {
	text := fmt.Sprintf("%s, %d of %d servers alive", cli.YesNo(s.Quorum), s.Alive, s.Known)
	switch {
	case s.NoQuorum != nil:
		text += "; " + s.NoQuorum.Text
	case !s.Gossip:
		text += "; gossip does not run"
	case s.Unsure:
		text += "; not sure"
	}
	return text
}

// records describes the state of the records of connections.
func records(s *healthmod.StoreStatus) string {
	text := fmt.Sprintf("%d in %s, slowest commit %v", s.Records, s.Path, s.Slowest.Round(10*time.Microsecond))
	if s.Error != "" {
		text += "; the last could not be saved: " + s.Error
	}
	if s.SetAside != "" {
		text += fmt.Sprintf("; a damaged file was set aside as %s: %s", s.SetAside, s.Damage)
	}
	return text
}

func newClientRoleDoc(c *healthmod.ClientRole) *clientRoleDoc {
	doc := &clientRoleDoc{
		Client: c.Client.String(), Name: c.Name, Incarnation: c.Incarnation, State: c.State, Master: "none", Attached: cmp.Or(nidText(c.Attached), "none"),
	}
	if c.Master.IsValid() {
		doc.Master = fmt.Sprintf("%v, epoch %d, heard %s ago", c.Master, c.Epoch, shortTime(c.Heard))
	}
	doc.Superseded = superseded(c.Superseded)
	for _, a := range c.Answers {
		doc.Answers = append(doc.Answers, a.String())
	}
	return doc
}

// superseded describes where a later incarnation of the client runs, and what to do; "" if there
// is none.
func superseded(s *health.SupersededBy) string {
	if s == nil {
		return ""
	}
	where := "elsewhere"
	if s.Peer.IsValid() {
		where = "at " + s.Peer.String()
	}
	return fmt.Sprintf("the same client runs %s, says %v; tries again in %s: give each node an NID, and each program a client id, of its own",
		where, s.Server, shortTime(s.Again))
}

// timesDoc has the times in force, under the names of the configuration.
type timesDoc healthmod.Timing

// MarshalJSON implements json.Marshaler: each time is a text.
func (t timesDoc) MarshalJSON() ([]byte, error) {
	var b []byte
	for field, ms := range reflect.ValueOf(t).Fields() {
		text := (time.Duration(ms.Int()) * time.Millisecond).String()
		if ms.Int() < 0 {
			text = "at once"
		}
		b = fmt.Appendf(b, ",%q:%q", strings.TrimSuffix(field.Tag.Get("json"), "_ms"), text)
	}
	b[0] = '{'
	return append(b, '}'), nil
}

func notZero(counters map[string]uint64) map[string]uint64 {
	doc := map[string]uint64{}
	for name, n := range counters {
		if n > 0 {
			doc[name] = n
		}
	}
	return doc
}

// printHealth prints the state in some lines.
func printHealth(w io.Writer, s *healthmod.Status) {
	if s.Server != nil {
		fmt.Fprintln(w, serverLine(s.Server))
	}
	if s.Client != nil {
		fmt.Fprintln(w, clientLine(s.Client))
	}
}

func serverLine(s *healthmod.ServerRole) string {
	if s.State == healthmod.Waiting {
		return "server: waits for gossip"
	}
	line := fmt.Sprintf("server %v: quorum %s; %d clients, master of %d, orphaned %d, recovering %d, evicting %d",
		s.Self, quorum(s), s.Clients, s.Mastered, s.Orphaned, s.Recovering, s.Evicting)
	if s.Draining {
		line += "; draining"
	}
	return line
}

func clientLine(c *healthmod.ClientRole) string {
	line := fmt.Sprintf("client %v", c.Client)
	if c.Name != "" {
		line += fmt.Sprintf(" %q", c.Name)
	}
	line += ": " + c.State
	if c.Master.IsValid() {
		line += fmt.Sprintf(", master %v", c.Master)
	}
	line += fmt.Sprintf(", connected to %d of %d servers", len(c.Attached), len(c.Servers))
	if s := superseded(c.Superseded); s != "" {
		line += "; " + s
	}
	for _, a := range c.Answers {
		line += "; " + a.String()
	}
	return line
}
