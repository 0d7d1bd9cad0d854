package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/capture/analyze"
	selftestwire "ulnet/lnet/selftest/wire"
	"ulnet/lnet/wire"
)

// analyzedPayload is the number of payload bytes that the analysis needs of a message.
const analyzedPayload = 256

// analysisOptions are the flags of --analyze.
type analysisOptions struct {
	on       bool
	plot     string
	rpcs     []string
	listed   int
	credits  int
	interval time.Duration
}

func (o *analysisOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.on, "analyze", false, "print latencies, what has no answer, what was sent again, and connections")
	f.StringVar(&o.plot, "plot", "", "with --analyze: draw latencies over time in `FILE` (SVG)")
	f.StringSliceVar(&o.rpcs, "rpc", nil, "with --analyze: pair PUTs to portal Q with PUTs to portal R that have the same match bits: `Q:R` (repeatable)")
	f.IntVar(&o.listed, "top", 10, "with --analyze: list the `N` slowest operations, and as many without an answer")
	f.IntVar(&o.credits, "peer-credits", 8, "with --analyze: messages that a node has under way to a peer (peer_credits)")
	f.DurationVar(&o.interval, "interval", 2*time.Second, "with --analyze and --follow: time between reports")
}

// config returns the configuration that the flags describe.
func (o *analysisOptions) config() (analyze.Config, error) {
	cfg := analyze.Config{Services: []analyze.Service{selftestService, analyze.Ptlrpc()}, Listed: o.listed, PeerCredits: o.credits}
	if o.listed < 1 || o.listed > 10_000 {
		return cfg, cli.Usagef("--top: want 1 to 10000, not %d", o.listed)
	}
	if o.credits < 1 {
		return cfg, cli.Usagef("--peer-credits: want 1 or more, not %d", o.credits)
	}
	if o.interval <= 0 {
		return cfg, cli.Usagef("--interval: want a time such as 2s, not %v", o.interval)
	}
	var own []analyze.Service
	for _, s := range o.rpcs {
		q, r, ok := strings.Cut(s, ":")
		request, err := strconv.ParseUint(q, 10, 32)
		reply, errReply := strconv.ParseUint(r, 10, 32)
		if !ok || err != nil || errReply != nil || q == r {
			return cfg, cli.Usagef("--rpc: want two portals such as 100:101, not %q", s)
		}
		own = append(own, analyze.ByMatchBits("rpc", []uint32{uint32(request)}, []uint32{uint32(reply)}))
	}
	cfg.Services = append(own, cfg.Services...)
	return cfg, nil
}

// selftestService has the requests of lnet_selftest and their replies: a request names the match
// bits of its reply.
var selftestService = analyze.Service{
	Name: "selftest",
	Request: func(put wire.PutCmd, payload []byte) (uint64, bool) {
		if put.Portal != selftestwire.TestPortal && put.Portal != selftestwire.FrameworkPortal {
			return 0, false
		}
		m, err := selftestwire.ParseMessage(payload)
		return m.ReplyID, err == nil && !m.Type.IsReply()
	},
	Reply: func(put wire.PutCmd, payload []byte) (uint64, bool) {
		if put.Portal != selftestwire.BulkPortal {
			return 0, false
		}
		m, err := selftestwire.ParseMessage(payload)
		return put.MatchBits, err == nil && m.Type.IsReply()
	},
}
