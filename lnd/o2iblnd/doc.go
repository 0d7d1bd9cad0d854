// Package o2iblnd is the LNet driver for RDMA: it speaks the protocol of Lustre's
// ko2iblnd over the queue pairs of a provider of package verbs.
package o2iblnd
