//go:build ibverbs && cgo && linux

package ibv

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"ulnet/lnd/verbs"
)

// TestNetHeader: only a valid network header gives the source of a datagram.
func TestNetHeader(t *testing.T) {
	v4, _ := hex.DecodeString("45000064000040004011" + "24ab" + "7f000002" + "ef010203")
	sum := ^checksum(append(append([]byte{}, v4[:10]...), append([]byte{0, 0}, v4[12:]...)...))
	v4[10], v4[11] = byte(sum>>8), byte(sum)
	b := append(make([]byte, 20), v4...)
	src, dst, ok := netHeader(b, true)
	if !ok || src != netip.MustParseAddr("127.0.0.2") || dst != netip.MustParseAddr("239.1.2.3") {
		t.Errorf("%v to %v, %v", src, dst, ok)
	}
	for i := range 20 {
		bad := append([]byte{}, b...)
		bad[20+i] ^= 0x10
		if _, _, ok := netHeader(bad, true); ok {
			t.Errorf("byte %d is another, and nobody sees it", i)
		}
	}
	v6 := make([]byte, 40)
	v6[0] = 0x60
	from, to := netip.MustParseAddr("fd00::1").As16(), netip.MustParseAddr("ff15::2").As16()
	copy(v6[8:], from[:])
	copy(v6[24:], to[:])
	if src, dst, ok := netHeader(v6, false); !ok || src.As16() != from || dst.As16() != to {
		t.Errorf("%v to %v, %v", src, dst, ok)
	}
	if _, _, ok := netHeader(v6, true); ok {
		t.Error("a header of IPv6 was taken for one of IPv4")
	}
	for n := range netHeaderSize {
		if _, _, ok := netHeader(v6[:n], false); ok {
			t.Errorf("a header of %d bytes", n)
		}
	}
}

// TestRuns: pieces that follow each other in memory form one run, and locate finds only
// ranges that lie in one run.
func TestRuns(t *testing.T) {
	memory := make([]byte, 100)
	runs, total := runsOf([][]byte{memory[:10], nil, memory[10:30], memory[40:50], memory[50:50], memory[30:40]})
	if total != 50 || len(runs) != 3 || runs[0].length != 30 || runs[1].offset != 30 || runs[2].offset != 40 {
		t.Fatalf("%d bytes in %+v", total, runs)
	}
	for _, tt := range []struct {
		from, to, run int
		offset        uint64
	}{
		{0, 30, 0, 0}, {5, 30, 0, 5}, {0, 31, -1, 0}, {30, 40, 2, 0}, {31, 39, 2, 1}, {40, 50, 1, 0}, {50, 51, -1, 0}, {60, 61, -1, 0},
	} {
		r, offset := locate(runs, memory[tt.from:tt.to])
		switch {
		case tt.run < 0 && r == nil:
		case tt.run < 0 || r != &runs[tt.run] || offset != tt.offset:
			t.Errorf("[%d:%d] is at %d of %+v", tt.from, tt.to, offset, r)
		}
	}
	for access, want := range map[verbs.Access]error{0: nil, 1: nil, 3: nil, 2: errAccess, 4: errAccess} {
		if err := checkRegion(1, access); !errors.Is(err, want) {
			t.Errorf("access %d: %v", access, err)
		}
	}
	if err := checkRegion(longestRegion+1, 0); !errors.Is(err, verbs.ErrTooLarge) {
		t.Error(err)
	}
}

// TestIDs: a wr_id can be split into the numbers that it was made of.
func TestIDs(t *testing.T) {
	for _, owner := range []uint32{1, mostTokens - 1} {
		for _, item := range []uint32{0, 1<<32 - 1} {
			if id := sendID(owner, item); id.isReceive() || id.owner() != owner || id.item() != item {
				t.Errorf("%#x", id)
			}
			if id := receiveID(owner, item); !id.isReceive() || id.owner() != owner || id.item() != item {
				t.Errorf("%#x", id)
			}
		}
	}
	if statusOf(12) != verbs.RetryExceeded || statusOf(0xEEEEEEEE) != verbs.General {
		t.Error("a status is another")
	}
}

// TestErrors checks that errors advise what to do next.
func TestErrors(t *testing.T) {
	addr := netip.MustParseAddr("192.0.2.1")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{openError(addr, "bind", syscall.ENODEV), "rdma link add rxe0 type rxe netdev eth0"},
		{openError(addr, "open", syscall.ENOENT), "modprobe rdma_ucm"},
		{openError(addr, "open", syscall.EACCES), "run as root"},
		{openError(addr, "bind", syscall.EADDRNOTAVAIL), "ip address show"},
		{openError(addr, "bind", syscall.ENETDOWN), "ip link set dev"},
		{openError(addr, "bind", syscall.ENOMEM), "ulimit -l"},
		{bindError(netip.AddrPortFrom(addr, 987), syscall.EACCES), "CAP_NET_BIND_SERVICE"},
		{bindError(netip.AddrPortFrom(addr, 987), syscall.EADDRINUSE), "rdma resource show"},
		{makeError("register memory", syscall.ENOMEM), "LimitMEMLOCK"},
	} {
		if !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%q does not say %q", tt.err, tt.want)
		}
	}
}

// TestHandles: the address handle of a group is available at once, that of a node later. close
// frees all of them, also a handle that is made only after close.
func TestHandles(t *testing.T) {
	found, looked := make(chan uintptr), make(chan struct{}, 4)
	live, searches := 0, 0
	h := handles{
		list: map[netip.Addr]*handle{},
		make: func(to netip.Addr) (uintptr, error) {
			if to.IsMulticast() {
				live++
				return 1, nil
			}
			if n := <-found; n != 0 {
				live++
				return n, nil
			}
			return 0, syscall.ETIMEDOUT
		},
		free:  func(uintptr) { live-- },
		begin: func() bool { searches++; return true },
		done:  func() { looked <- struct{}{} },
	}
	group, node, other := netip.MustParseAddr("239.0.0.1"), netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	want := func(to netip.Addr, n uintptr) {
		t.Helper()
		if ah, err := h.find(to); ah != n || err != nil {
			t.Errorf("%v: %d, %v", to, ah, err)
		}
	}
	want(group, 1)
	want(group, 1)
	want(node, 0)
	want(node, 0)
	found <- 0 // makes the search for the handle fail
	within(t, "the end of a search", looked)
	want(node, 0)
	found <- 7
	within(t, "the end of a search", looked)
	want(node, 7)
	want(other, 0)
	if searches != 3 || live != 2 {
		t.Errorf("%d searches, %d handles", searches, live)
	}
	h.close()
	found <- 8
	within(t, "the end of a search", looked)
	if live != 0 {
		t.Errorf("%d handles are left", live)
	}
	if _, err := h.find(group); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
