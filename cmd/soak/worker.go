package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

// Commands to a worker, one per line of its standard input. The end of the input has the same
// effect as cmdQuit.
const (
	cmdStart = "start" // start operations
	cmdCalm  = "calm"  // abort no more operations, and give later operations a long timeout, because each of them must succeed
	cmdStop  = "stop"  // start no more operations, and finish those in flight
	cmdState = "state" // tell the state of the node
	cmdQuit  = "quit"  // withdraw all memory, stop the node and exit
)

// notice is a message of a worker on its standard output, one JSON object per line.
type notice struct {
	Kind noticeKind `json:"kind"`
	Text string     `json:"text,omitempty"` // description of a violation
	// Resends is how many messages the node has sent again. It is set in the answer to cmdStop.
	Resends uint64 `json:"resends,omitempty"`
	State   *state `json:"state,omitempty"` // answer to cmdState
}

type noticeKind string

const (
	noticeReady     noticeKind = "ready"
	noticeCalm      noticeKind = "calm"    // answer to cmdCalm
	noticeStopped   noticeKind = "stopped" // answer to cmdStop: no operation is in flight
	noticeViolation noticeKind = "violation"
	noticeOverdue   noticeKind = "overdue" // an operation takes long
	noticeState     noticeKind = "state"
)

// journalFD is the file descriptor of a worker's journal.
const journalFD = 3

// Settings of a worker's node. In a run with faults the timeouts are short, so that faults of some
// seconds have consequences.
const (
	transactionTimeout = 10 * time.Second
	// calmTimeout is the transaction timeout in a run without faults, in which every operation must succeed
	// however slow and busy the machine is. A driver may try to send for a third of it. That is longer than
	// patience, so no operation fails within patience because a timeout is too short for the machine.
	calmTimeout = 210 * time.Second
	// patience bounds two times: until an operation has its last event, whatever its outcome is,
	// and until nothing is in flight after cmdStop. LNet gives up after one and a half transaction
	// timeouts; a driver takes longer only while it makes progress.
	patience     = 60 * time.Second
	minReconnect = 100 * time.Millisecond
	maxReconnect = 2 * time.Second
	// How often gateways are checked, and how long that may take.
	checkInterval = 5 * time.Second
	checkTimeout  = 5 * time.Second
	keepalive     = time.Second
	acceptPort    = 988
)

// workerConfig is the configuration of a worker.
type workerConfig struct {
	Worker      uint8
	Incarnation uint16
	Seed        uint64
	Networks    string        // networks of this worker
	Routes      string        // routes of this worker
	Router      bool          // the worker is a router, and starts no operations
	Names       []string      // NIDs of all workers, in the order of their numbers
	Rate        int           // largest number of operations per second
	Abort       bool          // whether to abort some operations at random
	Timeout     time.Duration // LNet's timeout of a transaction (lnet_transaction_timeout)
	Log         slog.Level
}

func workerCommand(env cli.Env) *cobra.Command {
	var text string
	c := &cobra.Command{
		Use: "worker", Short: "Be one of the nodes; soak starts itself so", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var cfg workerConfig
			if err := json.Unmarshal([]byte(text), &cfg); err != nil {
				return cli.Usagef("--config: %w", err)
			}
			return runWorker(c.Context(), env, cfg, os.NewFile(journalFD, "journal"))
		},
	}
	c.Flags().StringVar(&text, "config", "", "who it is, in JSON")
	return c
}

// worker is one node of the soak. It offers memory to other workers, and starts operations on
// the memory of others.
type worker struct {
	cfg     workerConfig
	node    *node.Node
	journal *journal
	log     *slog.Logger

	mu  sync.Mutex
	out *json.Encoder // writer of notices to the parent; guarded by mu
}

func runWorker(ctx context.Context, env cli.Env, cfg workerConfig, to io.Writer) error {
	w := &worker{cfg: cfg, journal: &journal{out: to}, out: json.NewEncoder(env.Stdout)}
	w.log = slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: cfg.Log}))
	var err error
	w.node, err = node.New(node.Config{Config: w.nodeConfig(), Log: w.log})
	if err != nil {
		return err
	}
	if err := w.route(); err != nil {
		return errors.Join(err, w.node.Shutdown(ctx))
	}
	memory, err := offer(w)
	if err == nil {
		w.say(notice{Kind: noticeReady})
		w.obey(ctx, env.Stdin, newTraffic(w))
		err = memory.withdraw()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return errors.Join(err, w.node.Shutdown(ctx))
}

// nodeConfig returns the configuration of the node, which is the same in all incarnations of a
// worker.
func (w *worker) nodeConfig() config.Config {
	c := config.Default()
	c.Networks = w.cfg.Networks
	c.AcceptPort = acceptPort
	c.TransactionTimeout = w.cfg.Timeout
	c.TCP.MinReconnect, c.TCP.MaxReconnect = minReconnect, maxReconnect
	if w.cfg.Timeout != calmTimeout {
		c.CheckInterval, c.RouterPingTimeout = checkInterval, checkTimeout
	}
	c.TCP.ConnsPerPeer = 1 + int(w.cfg.Worker)%3
	// Over RDMA, only the keepalive detects that a peer has died.
	c.O2IB.LND.ConnsPerPeer, c.O2IB.LND.Keepalive = c.TCP.ConnsPerPeer, keepalive
	if w.cfg.Timeout == calmTimeout {
		c.O2IB.LND.RetryCount = 7 // the largest value, because a busy machine delays packets for seconds
	}
	return c
}

// route gives the node its routes, and makes it a router.
func (w *worker) route() error {
	list, err := route.Parse(w.cfg.Routes)
	if err != nil {
		return err
	}
	lnet := w.node.Table().Node()
	if _, err := lnet.ApplyRoutes(list); err != nil {
		return err
	}
	if w.cfg.Router {
		err = lnet.StartAsRouter()
	}
	return err
}

// obey runs the traffic as commanded, until the worker is told to quit.
func (w *worker) obey(ctx context.Context, in io.Reader, t *traffic) {
	ctx, stop := context.WithCancel(ctx)
	var running, stopping sync.WaitGroup
	defer stopping.Wait()
	defer running.Wait()
	defer stop()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		switch lines.Text() {
		case cmdStart:
			if !w.cfg.Router {
				running.Go(func() { t.run(ctx) })
			}
		case cmdCalm:
			w.calm(t)
		case cmdStop:
			stop()
			stopping.Go(func() { // meanwhile the worker may be asked for its state
				running.Wait()
				w.stopped()
			})
		case cmdState:
			w.say(notice{Kind: noticeState, State: w.state(t)})
		case cmdQuit:
			return
		}
	}
}

// calm makes operations that begin from now on have the time-out of a run without faults, and tells the parent.
func (w *worker) calm(t *traffic) {
	t.calm.Store(true)
	lnet := w.node.Table().Node()
	s := lnet.Health()
	s.TransactionTimeout = calmTimeout
	if err := lnet.SetHealth(s); err != nil {
		w.violation("the time-out cannot be changed: %v", err)
	}
	w.say(notice{Kind: noticeCalm})
}

// stopped waits until nothing is in flight, and tells the parent.
func (w *worker) stopped() {
	w.awaitQuiet()
	s := w.node.Table().Node().Stats()
	w.log.Info("traffic has stopped", "drops", s.DropReasons)
	if wrong := breach(s.DropReasons); wrong != "" {
		w.violation("it was sent %s, for which it closed a connection", wrong)
	}
	w.say(notice{Kind: noticeStopped, Resends: s.ResendCount})
}

// breach returns the drops of a node that prove that a message for another NID reached it, which
// no node may send; "" if there are none.
func breach(drops map[string]uint64) string {
	for _, r := range [...]lnet.DropReason{lnet.NotDirect, lnet.WrongNI} {
		if n := drops[r.String()]; n > 0 {
			return fmt.Sprintf("%d messages for another NID (%v)", n, r)
		}
	}
	return ""
}

// awaitQuiet waits until the node has no message in flight and all its credits. Other workers
// may still send messages to this node.
func (w *worker) awaitQuiet() {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for begin := time.Now(); ; <-ticker.C {
		left := unsettled(w.node.Status(), w.node.Routing(), w.node.Peers(nid.NID{}, node.MaxPeerPage).Peers)
		if left == "" {
			return
		}
		if time.Since(begin) > patience {
			w.violation("nothing is under way, and after %v %s", patience, left)
			return
		}
	}
}

// unsettled describes the first messages or credits that a node still has in flight, or returns
// "" if there are none.
func unsettled(s node.Status, router lnet.RouterSnapshot, peers []lnet.PeerSnapshot) string {
	if n := s.Stats.MsgsAlloc; n != 0 {
		return fmt.Sprintf("%d messages are left", n)
	}
	for _, ni := range s.NIs {
		if ni.Credits != ni.Tunables.Credits {
			return fmt.Sprintf("%v has %d credits of %d", ni.NID, ni.Credits, ni.Tunables.Credits)
		}
	}
	if r := router.Buffers; r.Tickets != 0 {
		return fmt.Sprintf("%d messages wait for a router buffer or have one", r.Tickets)
	}
	i := slices.IndexFunc(peers, func(p lnet.PeerSnapshot) bool {
		return p.Credits != p.MaxCredits || p.Queued != 0 || p.QueuedBytes != 0
	})
	if i < 0 {
		return ""
	}
	p := peers[i]
	return fmt.Sprintf("peer %v has %d credits of %d, %d messages of %d bytes queued", p.NID, p.Credits, p.MaxCredits, p.Queued, p.QueuedBytes)
}

func (w *worker) say(n notice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.out.Encode(n) // fails only if the parent has ended
}

func (w *worker) violation(format string, args ...any) {
	w.say(notice{Kind: noticeViolation, Text: fmt.Sprintf("worker %d: ", w.cfg.Worker) + fmt.Sprintf(format, args...)})
}

// id returns the LNet process id of a worker.
func (w *worker) id(worker uint8) nid.ProcessID {
	return nid.ProcessID{NID: nid.MustParse(w.cfg.Names[worker]), PID: nid.LustrePID}
}
