package config

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// O2IB is the section o2ib of the file: networks over RDMA. The comment of each
// field begins with its key; most are ko2iblnd's.
type O2IB struct {
	Provider string // provider: one of Providers
	Service  int    // service: port of the connection manager

	PeerTimeout       time.Duration // peer_timeout, in seconds; 0: that of all networks
	PeerCredits       int           // peer_credits; 0: likewise
	PeerBufferCredits int           // peer_buffer_credits; 0: likewise
	Credits           int           // credits; 0: likewise

	PeerCreditsHIW  int // peer_credits_hiw; 0: half of peer_credits
	ConcurrentSends int // concurrent_sends; 0: peer_credits
	ConnsPerPeer    int // conns_per_peer
	NTX             int // ntx

	Timeout       time.Duration // timeout, in seconds; 0: LNet's
	Keepalive     time.Duration // keepalive, in seconds; 0: none
	RetryCount    int           // retry_count
	RNRRetryCount int           // rnr_retry_count

	IBMTU                 int  // ib_mtu, in bytes; 0: the path's
	TOS                   int  // tos; -1: none
	UsePrivilegedPort     bool // use_privileged_port
	RequirePrivilegedPort bool // require_privileged_port
	WrqSGE                int  // wrq_sge; 0: as many as the provider can
	Cksum                 bool // cksum
	RxBuffers             int  // rx_buffers
	RxBufferSize          int  // rx_buffer_size, in bytes; 0: 4 MiB
	MaxConns              int  // max_conns

	// What kernels have and softroce does without. It is shown as it is given.
	MapOnDemand     int  // map_on_demand
	FMRPoolSize     int  // fmr_pool_size
	FMRFlushTrigger int  // fmr_flush_trigger
	FMRCache        bool // fmr_cache
}

// The providers of RDMA: in Go over UDP, and the libraries of the system.
const (
	Softroce = "softroce"
	IBVerbs  = "ibverbs"
)

// Providers are the values of the key provider.
var Providers = []string{Softroce, IBVerbs}

func defaultO2IB() O2IB {
	return O2IB{
		Provider: Softroce, Service: 987, ConnsPerPeer: 1, NTX: 512, Keepalive: 100 * time.Second,
		RetryCount: 5, RNRRetryCount: 6, TOS: -1, UsePrivilegedPort: true,
		RxBuffers: 1024, MaxConns: 16384, MapOnDemand: 1, FMRPoolSize: 512, FMRFlushTrigger: 384, FMRCache: true,
	}
}

func (o *O2IB) settings() map[string]setting {
	return map[string]setting{
		"provider": text(&o.Provider, CheckProvider),
		"service":  number(&o.Service, 1, 65535),

		"peer_timeout":        duration(&o.PeerTimeout, time.Second, 0, maxSeconds),
		"peer_credits":        peerCredits(&o.PeerCredits),
		"peer_buffer_credits": number(&o.PeerBufferCredits, 0, maxCount),
		"credits":             number(&o.Credits, 0, maxCount),

		"peer_credits_hiw": number(&o.PeerCreditsHIW, 0, 254),
		"concurrent_sends": number(&o.ConcurrentSends, 0, 510),
		"conns_per_peer":   number(&o.ConnsPerPeer, 1, 127),
		"ntx":              number(&o.NTX, 1, maxCount),

		"timeout":         duration(&o.Timeout, time.Second, 0, maxSeconds),
		"keepalive":       duration(&o.Keepalive, time.Second, 0, maxSeconds),
		"retry_count":     number(&o.RetryCount, 0, 7),
		"rnr_retry_count": number(&o.RNRRetryCount, 0, 7),

		"ib_mtu":                  pathMTU(&o.IBMTU),
		"tos":                     number(&o.TOS, -1, 255),
		"use_privileged_port":     flag(&o.UsePrivilegedPort),
		"require_privileged_port": flag(&o.RequirePrivilegedPort),
		"wrq_sge":                 number(&o.WrqSGE, 0, 256),
		"cksum":                   flag(&o.Cksum),
		"rx_buffers":              number(&o.RxBuffers, 1, maxCount),
		"rx_buffer_size":          number(&o.RxBufferSize, 0, maxBuffer),
		"max_conns":               number(&o.MaxConns, 1, maxCount),

		"map_on_demand":     number(&o.MapOnDemand, 0, 256),
		"fmr_pool_size":     number(&o.FMRPoolSize, 0, maxCount),
		"fmr_flush_trigger": number(&o.FMRFlushTrigger, 0, maxCount),
		"fmr_cache":         flag(&o.FMRCache),
	}
}

// O2IBKeys returns the keys of the section o2ib in alphabetical order.
func O2IBKeys() []string {
	var o O2IB
	return slices.Sorted(maps.Keys(o.settings()))
}

// o2ibSection takes the section of a file.
func o2ibSection(o *O2IB, file string) setting {
	return setting{func(value ast.Node) error {
		entries, err := sectionOf(file, value)
		if err != nil {
			return err
		}
		if err := assign(o.settings(), file, entries); err != nil {
			return err
		}
		at := placesOf(entries)
		switch credits := o.PeerCredits; {
		case credits == 0:
		case o.Credits > 0 && credits > o.Credits:
			return errorAt(file, at["peer_credits"], fmt.Errorf("peer_credits: %d for one peer are more than credits, which are %d for all", credits, o.Credits))
		case o.PeerCreditsHIW >= credits:
			return errorAt(file, at["peer_credits_hiw"], fmt.Errorf("peer_credits_hiw: want less than peer_credits (%d), or a peer would wait for its credits", credits))
		case o.ConcurrentSends > 2*credits:
			return errorAt(file, at["concurrent_sends"], fmt.Errorf("concurrent_sends: want at most twice peer_credits (%d)", 2*credits))
		}
		return nil
	}}
}

// CheckProvider refuses what is no provider of RDMA.
func CheckProvider(s string) error {
	if !slices.Contains(Providers, s) {
		return fmt.Errorf("want %s or %s, not %q", Softroce, IBVerbs, s)
	}
	return nil
}

// peerCredits takes 0, or a depth of queues that the protocol allows.
func peerCredits(to *int) setting {
	return setting{func(value ast.Node) error {
		n, err := integer(value, 0, 255)
		if err == nil && n > 0 && n < 8 {
			err = fmt.Errorf("want 0, or a number from 8 to 255, not %d: peers refuse less", n)
		}
		if err == nil {
			*to = n
		}
		return err
	}}
}

// pathMTU takes 0, or a payload of packets that RDMA knows.
func pathMTU(to *int) setting {
	return setting{func(value ast.Node) error {
		n, err := integer(value, 0, 4096)
		if err != nil || !slices.Contains([]int{0, 256, 512, 1024, 2048, 4096}, n) {
			return fmt.Errorf("want 0, 256, 512, 1024, 2048 or 4096, not %q", value)
		}
		*to = n
		return nil
	}}
}
