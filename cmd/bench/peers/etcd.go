package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"ulnet/cmd/bench/rival"
)

// serveEtcd starts a member of an etcd cluster with the defaults of etcd. Its write-ahead log is
// on the disk.
func serveEtcd(k rival.Keeping, gone func(name string)) error {
	cfg := embed.NewConfig()
	cfg.Name = fmt.Sprint("m", k.Index)
	cfg.Dir = filepath.Join(k.Folder, "etcd")
	cfg.LogLevel, cfg.LogOutputs = "fatal", []string{filepath.Join(k.Folder, "log")}
	var members []string
	for i, addr := range k.Addrs() {
		members = append(members, fmt.Sprintf("m%d=http://%v", i, netip.AddrPortFrom(addr, k.Port2)))
	}
	cfg.InitialCluster = strings.Join(members, ",")
	own := func(port uint16) []url.URL {
		return []url.URL{{Scheme: "http", Host: netip.AddrPortFrom(k.Addrs()[k.Index], port).String()}}
	}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = own(k.Port2), own(k.Port2)
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = own(k.Port), own(k.Port)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		return err
	case <-time.After(20 * time.Second):
		return errors.New("a member of etcd does not get ready")
	}
	go watchEtcd(v3client.New(e.Server), gone)
	return nil
}

// watchEtcd reports the clients whose lease has expired at this member.
func watchEtcd(local *clientv3.Client, gone func(name string)) {
	for w := range local.Watch(context.Background(), rival.ClientPrefix, clientv3.WithPrefix()) {
		for _, e := range w.Events {
			if e.Type == clientv3.EventTypeDelete {
				gone(string(e.Kv.Key))
			}
		}
	}
}

// keeper starts clients that keep leases of etcd.
type keeper struct{ rival.Keeping }

func etcdClients(k rival.Keeping) func(i int) (kill func(), err error) { return keeper{k}.client }

// client starts a client with its own connection, lease, key and stream of keep-alives.
func (c keeper) client(i int) (kill func(), err error) {
	addr := netip.AddrPortFrom(c.Addrs()[i%c.Servers], c.Port)
	conn, err := grpc.NewClient(addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	kill = func() {
		cancel()
		_ = conn.Close() // ends this client alone, because no other one uses the connection
	}
	leases := pb.NewLeaseClient(conn)
	lease, err := leases.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: int64(c.TTL / time.Second)})
	if err != nil {
		return kill, err
	}
	put := &pb.PutRequest{Key: fmt.Appendf(nil, "%s%d", rival.ClientPrefix, i), Value: []byte("here"), Lease: lease.ID}
	if _, err := pb.NewKVClient(conn).Put(ctx, put); err != nil {
		return kill, err
	}
	go c.stayAlive(ctx, leases, lease.ID)
	return kill, nil
}

// stayAlive keeps a lease alive. Like package clientv3, it opens a new stream half a second
// after one has failed, and ends when the lease ends.
func (c keeper) stayAlive(ctx context.Context, leases pb.LeaseClient, id int64) {
	const pause = 500 * time.Millisecond
	wait := rand.N(c.Interval)
	for {
		if stream, err := leases.LeaseKeepAlive(ctx); err == nil && c.keepAlive(ctx, stream, id, wait) {
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		wait = 0
	}
}

// keepAlive sends a keep-alive per interval and reads the answers. It returns true when the lease has expired
// or ctx has ended, and false when the stream has failed.
func (c keeper) keepAlive(ctx context.Context, stream pb.Lease_LeaseKeepAliveClient, id int64, first time.Duration) (over bool) {
	wait := time.NewTimer(first)
	defer wait.Stop()
	for request := (&pb.LeaseKeepAliveRequest{ID: id}); ; wait.Reset(c.Interval) {
		select {
		case <-wait.C:
		case <-ctx.Done():
			return true
		}
		if err := stream.Send(request); err != nil {
			return false
		}
		answer, err := stream.Recv()
		if err != nil {
			return false
		}
		if answer.TTL <= 0 {
			return true
		}
	}
}
