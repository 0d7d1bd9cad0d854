package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ulnet/cmd/internal/commands"
	"ulnet/cmd/internal/control"
	daemon "ulnet/cmd/internal/node"
	"ulnet/cmd/internal/service/servicetest"
	"ulnet/lnd/lndtest/loopback"
)

// restarted is an lnetd with a sink for PUTs, under a service manager that keeps its listening socket
// during a restart.
type restarted struct {
	b       *measurement
	port    uint16
	folder  string
	program string // path of lnetd
	manager *servicetest.Manager
	ready   chan struct{} // receives a value for each READY=1 that lnetd sends
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the process has ended
}

// newRestarted builds lnetd and starts it.
func newRestarted(b *measurement) *restarted {
	d := &restarted{b: b, port: must(loopback.FreePort(peerAddr, ownAddr)), ready: make(chan struct{}, 1)}
	d.folder = must(os.MkdirTemp("", "restart"))
	b.ends = append(b.ends, func() { _ = os.RemoveAll(d.folder) })
	d.manager = must(servicetest.Start(filepath.Join(d.folder, "notify"), func(text string) {
		if strings.HasPrefix(text, "READY=1") {
			d.ready <- struct{}{}
		}
	}))
	b.ends = append(b.ends, func() { _ = d.manager.Close() })
	bin := must(commands.Build(d.folder, "lnetd"))
	succeed(os.WriteFile(d.path("lnetd.yaml"), []byte("# all defaults\n"), 0o600))
	b.ends = append(b.ends, func() {
		if d.cmd != nil {
			_ = d.cmd.Process.Kill() // fails if the process has ended
			<-d.ended
		}
	})
	d.program = filepath.Join(bin, "lnetd")
	d.start()
	<-d.awaitSink()
	return d
}

func (d *restarted) path(name string) string { return filepath.Join(d.folder, name) }

// start starts lnetd with the sockets that its manager has kept. The kernel kills lnetd when this process
// dies.
func (d *restarted) start() {
	cmd := exec.Command(d.program, "--config", d.path("lnetd.yaml"), "--networks", fmt.Sprintf("tcp(%v)", peerAddr),
		"--accept-port", strconv.Itoa(int(d.port)), "--socket", d.path("lnetd.sock"), "--state-dir", d.path("state"), "--runtime-dir", d.folder)
	release := must(d.manager.Equip(cmd))
	defer release()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // Pdeathsig kills lnetd when the thread that has started it ends
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the exit status is not needed: if lnetd fails, operations get no answer
		}
	}()
	succeed(<-started)
	d.cmd, d.ended = cmd, ended
}

// restart ends lnetd by SIGTERM, as systemd does, and starts it again. It returns the times of the signal
// and of the end of the old process. It does not wait until the new lnetd is ready and has its sink for PUTs.
func (d *restarted) restart() (signalled, ended time.Time) {
	signalled = time.Now()
	succeed(d.cmd.Process.Signal(syscall.SIGTERM))
	<-d.ended
	ended = time.Now()
	d.start()
	d.awaitSink()
	return signalled, ended
}

// awaitSink starts a goroutine that opens a sink for PUTs on lnetd when lnetd is ready. The sink lasts
// until lnetd ends. The returned channel is closed when the sink takes PUTs.
func (d *restarted) awaitSink() <-chan struct{} {
	sinks := make(chan struct{})
	go func() {
		select {
		case <-d.ready:
		case <-d.b.ctx.Done():
			close(sinks)
			return
		}
		request := daemon.SinkRequest{Portal: restartPortal, Size: restartBytes}
		// An error means that lnetd has ended, or that operations fail, which are counted.
		_ = daemon.OpSink.Call(d.b.ctx, control.NewClient(d.path("lnetd.sock")), request, func(s daemon.Step) error {
			if s.Ready {
				close(sinks)
			}
			return nil
		})
	}()
	return sinks
}
