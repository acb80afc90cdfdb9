# The library over UCX, once for each way that UCX has on one host. Included where the transport is
# compiled; a host without libucp has no device then, so it is a failure there.
set(ucx_ways "tcp,self" "posix,cma,self")
foreach(tls IN LISTS ucx_ways)
  string(REGEX REPLACE ",.*" "" way ${tls})
  set(ucx_environment THINWIRE_TRANSPORT=ucx UCX_TLS=${tls})
  abi_test(abi_ucx_${way}_loader PROGRAM abi_loader LABEL abi ARGUMENTS 12
    ENVIRONMENT ${ucx_environment})
  # The library's own cycles are counted over TCP: here those of UCX's contexts and workers.
  foreach(case fork exit cycles reload)
    abi_test(abi_ucx_${way}_${case} PROGRAM abi_manners LABEL abi ARGUMENTS ${case} 25
      ENVIRONMENT ${ucx_environment})
  endforeach()
  foreach(case abort many flood truncation reuse misuse)
    abi_test(abi_ucx_${way}_${case} PROGRAM abi_behaviour LABEL abi ARGUMENTS ${case}
      ENVIRONMENT ${ucx_environment})
  endforeach()
  abi_test(abi_ucx_${way}_sigkill PROGRAM abi_kill LABEL multiproc ARGUMENTS sigkill 20
    ENVIRONMENT THINWIRE_PEER_TIMEOUT_S=2 ${ucx_environment})
  abi_test(abi_ucx_${way}_sigstop PROGRAM abi_kill LABEL multiproc ARGUMENTS sigstop 20
    ENVIRONMENT THINWIRE_PEER_TIMEOUT_S=2 THINWIRE_HEARTBEAT_S=1 THINWIRE_WORKERS=1
      ${ucx_environment})
  abi_test(abi_ucx_${way}_late PROGRAM abi_kill LABEL multiproc ARGUMENTS late 4
    ENVIRONMENT THINWIRE_PEER_TIMEOUT_S=1 ${ucx_environment})
  foreach(case silent dead)
    abi_test(abi_ucx_${way}_${case} PROGRAM abi_kill LABEL multiproc ARGUMENTS ${case} 23
      ENVIRONMENT THINWIRE_CONNECT_TIMEOUT_S=3 ${ucx_environment})
  endforeach()
endforeach()
