//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import "ulnet/lnd/verbs"

// These constants check that the numbers of package verbs are those of libibverbs: a constant
// does not compile if the two numbers in it differ.
const (
	_ = uint(verbs.Success-C.IBV_WC_SUCCESS) + uint(C.IBV_WC_SUCCESS-verbs.Success)
	_ = uint(verbs.LocalLength-C.IBV_WC_LOC_LEN_ERR) + uint(C.IBV_WC_LOC_LEN_ERR-verbs.LocalLength)
	_ = uint(verbs.LocalProtection-C.IBV_WC_LOC_PROT_ERR) + uint(C.IBV_WC_LOC_PROT_ERR-verbs.LocalProtection)
	_ = uint(verbs.Flushed-C.IBV_WC_WR_FLUSH_ERR) + uint(C.IBV_WC_WR_FLUSH_ERR-verbs.Flushed)
	_ = uint(verbs.RemoteInvalid-C.IBV_WC_REM_INV_REQ_ERR) + uint(C.IBV_WC_REM_INV_REQ_ERR-verbs.RemoteInvalid)
	_ = uint(verbs.RemoteAccess-C.IBV_WC_REM_ACCESS_ERR) + uint(C.IBV_WC_REM_ACCESS_ERR-verbs.RemoteAccess)
	_ = uint(verbs.RemoteOperation-C.IBV_WC_REM_OP_ERR) + uint(C.IBV_WC_REM_OP_ERR-verbs.RemoteOperation)
	_ = uint(verbs.RetryExceeded-C.IBV_WC_RETRY_EXC_ERR) + uint(C.IBV_WC_RETRY_EXC_ERR-verbs.RetryExceeded)
	_ = uint(verbs.RNRRetryExceeded-C.IBV_WC_RNR_RETRY_EXC_ERR) + uint(C.IBV_WC_RNR_RETRY_EXC_ERR-verbs.RNRRetryExceeded)
	_ = uint(verbs.Fatal-C.IBV_WC_FATAL_ERR) + uint(C.IBV_WC_FATAL_ERR-verbs.Fatal)
	_ = uint(verbs.General-C.IBV_WC_GENERAL_ERR) + uint(C.IBV_WC_GENERAL_ERR-verbs.General)

	_ = uint(verbs.LocalWrite-C.IBV_ACCESS_LOCAL_WRITE) + uint(C.IBV_ACCESS_LOCAL_WRITE-verbs.LocalWrite)
	_ = uint(verbs.RemoteWrite-C.IBV_ACCESS_REMOTE_WRITE) + uint(C.IBV_ACCESS_REMOTE_WRITE-verbs.RemoteWrite)
)
