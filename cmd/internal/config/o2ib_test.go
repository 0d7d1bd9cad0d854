package config_test

import (
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/drivers"
)

func TestO2IB(t *testing.T) {
	for _, test := range []struct {
		name, text string
		change     func(*config.Config)
	}{
		{
			name: "networks beside tcp", text: "networks: tcp(eth0),o2ib(eth0),o2ib1(10.0.0.1)\n",
			change: func(c *config.Config) { c.Networks = "tcp(eth0),o2ib(eth0),o2ib1(10.0.0.1)" },
		},
		{
			name: "OPA's profile", text: "o2ib:\n  peer_credits: 32\n  peer_credits_hiw: 16\n  credits: 1024\n  concurrent_sends: 64\n  ntx: 2048\n  map_on_demand: 256\n  conns_per_peer: 4\n  fmr_pool_size: 2048\n  fmr_flush_trigger: 512\n  fmr_cache: 1\n",
			change: func(c *config.Config) {
				o := &c.O2IB
				o.PeerCredits, o.LND.PeerCreditsHIW, o.Credits, o.LND.ConcurrentSends, o.LND.NTX, o.LND.ConnsPerPeer = 32, 16, 1024, 64, 2048, 4
				o.MapOnDemand, o.FMRPoolSize, o.FMRFlushTrigger = 256, 2048, 512
			},
		},
		{
			name: "all others", text: "o2ib:\n  provider: ibverbs\n  service: 1987\n  peer_timeout: 9\n  peer_buffer_credits: 10\n  timeout: 11\n  keepalive: 0\n  retry_count: 6\n  rnr_retry_count: 7\n" +
				"  ib_mtu: 4096\n  tos: 104\n  use_privileged_port: 0\n  require_privileged_port: 1\n  wrq_sge: 8\n  cksum: 1\n  rx_buffers: 13\n  rx_buffer_size: 12\n  max_conns: 14\n  fmr_cache: 0\n",
			change: func(c *config.Config) {
				o := &c.O2IB
				o.Provider, o.LND.Service, o.PeerTimeout, o.PeerBufferCredits, o.LND.Timeout = drivers.IBVerbs, 1987, 9*time.Second, 10, 11*time.Second
				o.LND.Keepalive, o.LND.RetryCount, o.LND.RNRRetryCount, o.LND.IBMTU, o.LND.TOS = -1, 6, 7, 4096, 104
				o.LND.UnprivilegedPort, o.LND.RequirePrivilegedPort, o.LND.WrqSGE, o.LND.Cksum, o.LND.RxBuffers, o.LND.ReceiveBuffer, o.LND.MaxConns, o.FMRCache = true, true, 8, true, 13, 12, 14, false
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) { wantConfig(t, test.text, test.change) })
	}
}

func TestO2IBErrors(t *testing.T) {
	for _, test := range []struct{ name, text, err string }{
		{"unknown key", "o2ib:\n  peer_credit: 8\n", `f:2:3: unknown key "peer_credit"`},
		{"a key of TCP", "o2ib:\n  accept_port: 988\n", `f:2:3: unknown key "accept_port"`},
		{"provider", "o2ib:\n  provider: siw\n", `f:2:13: provider: want softroce or ibverbs, not "siw"`},
		{"port", "o2ib:\n  service: 0\n", `f:2:12: service: want a whole number from 1 to 65535, not "0"`},
		{"too few credits", "o2ib:\n  tos: 3\n  peer_credits: 4\n", `f:3:17: peer_credits: want 0, or a number from 8 to 255, not 4: peers refuse less`},
		{"too many credits", "o2ib:\n  peer_credits: 256\n", `f:2:17: peer_credits: want a whole number from 0 to 255, not "256"`},
		{"more than all", "o2ib:\n  credits: 16\n  peer_credits: 17\n", `f:3:17: peer_credits: 17 for one peer are more than credits, which are 16 for all`},
		{"high water", "o2ib:\n  peer_credits: 16\n  peer_credits_hiw: 16\n", `f:3:21: peer_credits_hiw: want less than peer_credits (16)`},
		{"sends", "o2ib:\n  peer_credits: 16\n  concurrent_sends: 33\n", `f:3:21: concurrent_sends: want at most twice peer_credits (32)`},
		{"MTU", "o2ib:\n  ib_mtu: 1500\n", `f:2:11: ib_mtu: want 0, 256, 512, 1024, 2048 or 4096, not "1500"`},
		{"retries", "o2ib:\n  retry_count: 8\n", `f:2:16: retry_count: want a whole number from 0 to 7, not "8"`},
		{"no section", "o2ib: 7\n", `f:1:7: `},
	} {
		t.Run(test.name, func(t *testing.T) { wantRefused(t, test.text, test.err) })
	}
}
