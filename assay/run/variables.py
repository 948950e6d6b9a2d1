# SPDX-License-Identifier: Apache-2.0
"""Which variables of the caller's environment a provenance keeps: those that change measurements.

Names, never prefixes: a variable that is not listed is kept by its name alone where it begins as
those of MPI libraries do, so that a reader sees that it was set. docs/provenance.md lists them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from records.withheld import without_secrets

#: Variables whose values matter to measurements, by who reads them.
MATTERS = {
    "MPICH": """
        HYDRA_BINDING HYDRA_IFACE HYDRA_LAUNCHER HYDRA_MAPPING HYDRA_RMK HYDRA_TOPOLIB
        MPICH_ASYNC_PROGRESS MPICH_INTERFACE_HOSTNAME MPICH_NO_LOCAL MPICH_PORT_RANGE
        MPICH_RANK_REORDER_METHOD MPIEXEC_TIMEOUT MPIR_CVAR_ASYNC_PROGRESS
        MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE MPIR_CVAR_CH3_NOLOCAL MPIR_CVAR_CH4_NETMOD
        MPIR_CVAR_CH4_NUM_VCIS MPIR_CVAR_CH4_SHM MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE
        MPIR_CVAR_DEFAULT_THREAD_LEVEL MPIR_CVAR_DEVICE_COLLECTIVES MPIR_CVAR_ENABLE_HCOLL
        MPIR_CVAR_NEMESIS_EAGER_MAX_MSG_SIZE MPIR_CVAR_NOLOCAL MPIR_CVAR_ODD_EVEN_CLIQUES
        MPIR_CVAR_POLLS_BEFORE_YIELD
    """,
    "Open MPI": """
        OMPI_MCA_btl OMPI_MCA_btl_tcp_eager_limit OMPI_MCA_btl_tcp_if_exclude
        OMPI_MCA_btl_tcp_if_include OMPI_MCA_btl_tcp_links OMPI_MCA_btl_tcp_rcvbuf
        OMPI_MCA_btl_tcp_rndv_eager_limit OMPI_MCA_btl_tcp_sndbuf
        OMPI_MCA_btl_vader_eager_limit OMPI_MCA_btl_vader_single_copy_mechanism OMPI_MCA_coll
        OMPI_MCA_coll_hcoll_enable OMPI_MCA_coll_tuned_use_dynamic_rules
        OMPI_MCA_hwloc_base_binding_policy OMPI_MCA_mpi_yield_when_idle OMPI_MCA_mtl
        OMPI_MCA_oob_tcp_if_include OMPI_MCA_osc OMPI_MCA_pml OMPI_MCA_pml_ucx_tls
        OMPI_MCA_rmaps_base_mapping_policy OMPI_MCA_rmaps_base_oversubscribe
        OMPI_MCA_topo PRTE_MCA_hwloc_default_binding_policy PRTE_MCA_rmaps_default_mapping_policy
    """,
    "LAM/MPI": """
        LAM_MPI_SSI_boot LAM_MPI_SSI_coll LAM_MPI_SSI_rpi LAM_MPI_SSI_rpi_crtcp_short
        LAM_MPI_SSI_rpi_sysv_poll_yield LAM_MPI_SSI_rpi_sysv_short LAM_MPI_SSI_rpi_tcp_short
        LAM_MPI_SSI_rpi_tcp_sockbuf LAM_MPI_SSI_rpi_usysv_short LAMRSH
    """,
    "PVM": "PVM_ARCH PVM_ROOT PVM_RSH PVM_TMP",
    "Intel MPI": """
        I_MPI_ADJUST_ALLREDUCE I_MPI_ADJUST_ALLTOALL I_MPI_ADJUST_BCAST I_MPI_ASYNC_PROGRESS
        I_MPI_EAGER_THRESHOLD I_MPI_FABRICS I_MPI_OFI_PROVIDER I_MPI_PIN I_MPI_PIN_DOMAIN
        I_MPI_PIN_ORDER I_MPI_PIN_PROCESSOR_LIST I_MPI_SHM I_MPI_TUNING_BIN
    """,
    "MVAPICH2": """
        MV2_CPU_BINDING_POLICY MV2_ENABLE_AFFINITY MV2_HOMOGENEOUS_CLUSTER
        MV2_IBA_EAGER_THRESHOLD MV2_IBA_HCA MV2_SMP_EAGERSIZE MV2_USE_SHARED_MEM
    """,
    "UCX": """
        UCX_IB_GID_INDEX UCX_IB_SL UCX_MAX_EAGER_RAILS UCX_MAX_RNDV_RAILS UCX_MEMTYPE_CACHE
        UCX_NET_DEVICES UCX_PROTO_ENABLE UCX_RCACHE_ENABLE UCX_RNDV_SCHEME UCX_RNDV_THRESH
        UCX_TCP_CM_REUSEADDR UCX_TCP_MAX_CONN_RETRIES UCX_TLS UCX_UNIFIED_MODE UCX_ZCOPY_THRESH
    """,
    "libfabric": """
        FI_CXI_DEFAULT_CQ_SIZE FI_CXI_RDZV_THRESHOLD FI_EFA_FORK_SAFE FI_OFI_RXM_BUFFER_SIZE
        FI_OPX_UUID FI_PROVIDER FI_PSM2_LOCK_LEVEL FI_TCP_IFACE FI_UNIVERSE_SIZE FI_VERBS_IFACE
    """,
    "PMIx": "PMIX_MCA_gds PMIX_MCA_psec PMIX_MCA_ptl SLURM_MPI_TYPE SLURM_PMIX_DIRECT_CONN",
    "BLAS and OpenMP": """
        BLIS_NUM_THREADS GOMP_CPU_AFFINITY GOTO_NUM_THREADS KMP_AFFINITY KMP_BLOCKTIME
        MKL_DYNAMIC MKL_ENABLE_INSTRUCTIONS MKL_NUM_THREADS OMP_DYNAMIC OMP_NUM_THREADS OMP_PLACES
        OMP_PROC_BIND OMP_SCHEDULE OMP_STACKSIZE OMP_WAIT_POLICY OPENBLAS_CORETYPE
        OPENBLAS_NUM_THREADS OPENBLAS_THREAD_TIMEOUT OPENBLAS_VERBOSE
    """,
    "Slurm": """
        SLURM_CPU_BIND SLURM_CPU_FREQ_REQ SLURM_DISTRIBUTION SLURM_EXCLUSIVE SLURM_HINT
        SLURM_MEM_BIND SLURM_NETWORK SLURM_OVERCOMMIT SLURM_THREADS_PER_CORE
    """,
    "the C library": "GLIBC_TUNABLES LD_BIND_NOW MALLOC_ARENA_MAX MALLOC_MMAP_THRESHOLD_",
}
NOT_KEPT = "(set; value not kept)"

_KEPT = frozenset(name for names in MATTERS.values() for name in names.split())
#: Such variables are named even where they are not listed.
_OF_A_LIBRARY = re.compile(
    r"(MPI|MPICH|MPIR|OMPI|PRTE|PMIX|PMI|UCX|LAM|FI|I_MPI|MV2|OPENBLAS|MKL|OMP|HYDRA|SLURM|PVM)_"
)


def variables_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a provenance keeps of an environment, by name in order."""
    found = {
        name: value if name in _KEPT else NOT_KEPT
        for name, value in sorted(environment.items())
        if name in _KEPT or _OF_A_LIBRARY.match(name)
    }
    return without_secrets(found)
