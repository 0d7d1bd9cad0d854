// Package ibv is the provider of package verbs for RDMA hardware: RC and UD queue
// pairs with libibverbs, connections with librdmacm. It runs on every device that these
// support, also on the kernel's software RoCE. It needs cgo and the build tag ibverbs; without
// them [Open] says what to install and how to build.
//
// What differs from softroce, because a device decides it:
//
//   - An empty pool is answered with RNR NAKs, which the peer counts against its RNR
//     retries. Only the device knows them: PoolStats.Empty is how often a pool became
//     empty.
//   - The packets of connections are as long as the interface permits: any other MTU is
//     refused. A Tap sees nothing.
//   - Datagrams need RoCE. The first ones to a node are lost while the system resolves its
//     Ethernet address; those to a group are not.
//   - UD.Join blocks until the system has joined, for at most five seconds.
//   - If a peer breaks a rule of RDMA, a queue pair can fail without a completion. That is
//     noticed only when something is posted on it, or when the peer hangs up.
//
// # Memory
//
// A device writes to memory by itself, and neither the garbage collector nor the race
// detector knows of it. These are the rules that keep both safe:
//
//	no MR       PostSend copies the data into C memory that is registered once and
//	            belongs to a pool of the PD: at most 64 KiB per work request
//	MR          Pieces that follow each other in memory are registered together, as one
//	            run. It is pinned (runtime.Pinner) until Deregister was called and no
//	            posted work request names the region any more
//	received    It is C memory that Go slices refer to. It is freed when the pool is
//	            closed and all buffers are returned
//
// A peer writes to a region by one key, but a device has a key for each registration. A region
// with RemoteWrite that has several runs therefore is C memory: a copy of the pieces that
// Deregister copies back. So the consumer must neither read nor write a region's memory between
// Register and Deregister. Without RemoteWrite up to 16 runs have a key each; with more runs
// PostSend copies the data that a work request gathers.
//
// Deregister asks the device, which from then on refuses everything that names the region. That
// includes a work request that is still posted, and then the queue pair is lost. If a device
// cannot deregister, the memory stays pinned for ever, which is logged.
//
// Addresses that are sent to peers are random, not addresses of this process.
//
// # Threads
//
// A CQ has a goroutine that polls in batches and sleeps in the runtime's poller. It also makes
// the upcalls for events of the connections whose receives it has, after those of earlier
// completions. A device has a goroutine for events of the connection manager. Calls of
// librdmacm are made under one lock of the device, since a queue pair must not go
// away while the library changes its state.
package ibv
