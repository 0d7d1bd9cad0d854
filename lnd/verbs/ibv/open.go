//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ulnet/lnd/verbs"
)

var _ verbs.Opener = Open

// forkInit keeps registered pages in this process if a library forks children, on kernels
// that do not do so themselves. It must be called before anything else.
var forkInit = sync.OnceValue(func() C.int { return C.ibv_fork_init() })

// Open opens the device that has an address: hardware whose interface has it, or the
// kernel's software RoCE (verbs.Opener).
func Open(cfg verbs.OpenConfig) (verbs.Device, error) {
	if cfg.Clock == nil || !cfg.Addr.IsValid() || cfg.Addr.IsUnspecified() {
		return nil, errors.New("open an RDMA device: Addr and Clock are required")
	}
	if rc := forkInit(); rc != 0 {
		return nil, fmt.Errorf("ibv_fork_init: %w: set IBV_FORK_SAFE=0 or use a newer kernel", errno(-rc))
	}
	cfg.Addr = cfg.Addr.Unmap()
	d := &device{
		cfg: cfg, log: cfg.Log,
		conns: map[uint32]*conn{}, listeners: map[uint32]*listener{}, requests: map[*request]struct{}{},
		byToken: map[uint32]*queuePair{}, byQPN: map[uint32]*queuePair{}, pools: map[uint32]*pool{},
		domains: map[*domain]struct{}{}, cqs: map[*queue]struct{}{}, uds: map[*datagrams]struct{}{},
	}
	d.attr.Addr = cfg.Addr
	d.log = cmp.Or(d.log, slog.New(slog.DiscardHandler))
	if err := d.sameFamily(cfg.Addr); err != nil {
		return nil, err
	}
	if err := d.open(); err != nil {
		d.free()
		return nil, err
	}
	d.loop.Go(d.watch)
	return d, nil
}

// open makes what a device needs of the libraries; free undoes it, also if open failed halfway.
func (d *device) open() error {
	addr := d.cfg.Addr
	if rc := C.ulnet_channel(&d.channel); rc != 0 {
		return openError(addr, "open the connection manager", errno(rc))
	}
	var err error
	if d.arrived, err = pollable(int(d.channel.fd), "rdma_cm"); err != nil {
		return err
	}
	if rc := C.ulnet_create_id(d.channel, 0, 0, &d.id); rc != 0 {
		d.id = nil
		return openError(addr, "use the connection manager", errno(rc))
	}
	if rc := C.ulnet_bind(d.id, sockaddr(netip.AddrPortFrom(addr, 0)), 0); rc != 0 {
		return openError(addr, "bind", errno(rc))
	}
	d.context, d.port = d.id.verbs, d.id.port_num
	if rc := C.ulnet_query(d.context, d.port, &d.limit); rc != 0 {
		return openError(addr, "ask the device for its limits", errno(rc))
	}
	if d.limit.active == 0 {
		return openError(addr, "use the port", unix.ENETDOWN)
	}
	return d.describe()
}

// describe fills in d.attr.
func (d *device) describe() error {
	d.attr.GUID, d.attr.MTU, d.attr.FixedMTU = uint64(d.limit.guid), int(d.limit.mtu), true
	d.attr.Frags, d.attr.SGEs = 1, int(min(d.limit.max_sges, mostPieces))
	if want := d.cfg.MTU; want != 0 && want < d.attr.MTU {
		return fmt.Errorf("packets of %d bytes are asked for, the device at %v has %d: with libibverbs they are what the interface "+
			"lets pass: change its MTU (ip link set mtu), or do not ask", want, d.attr.Addr, d.attr.MTU)
	}
	if d.attr.SGEs == 0 || d.limit.max_receives == 0 {
		return fmt.Errorf("the device at %v has no shared receive queues, which are needed: use another device", d.attr.Addr)
	}
	return nil
}

// free releases what open has made.
func (d *device) free() {
	if d.id != nil {
		C.rdma_destroy_id(d.id)
		d.id = nil
	}
	if d.arrived != nil {
		_ = d.arrived.Close()
	}
	if d.channel != nil {
		C.rdma_destroy_event_channel(d.channel)
		d.channel = nil
	}
}

// pollable returns a file that the runtime's poller watches, for a descriptor of the libraries.
// The file is a duplicate, because the library closes its own descriptor. Calls on the
// two descriptors do not block from then on.
func pollable(fd int, name string) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	twin, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	f := os.NewFile(uintptr(twin), name)
	if err := f.SetReadDeadline(time.Time{}); err != nil { // an error means that the file cannot be polled
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
