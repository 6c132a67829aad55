# Whether plugins get their half for NVIDIA GPUs: HOX_HAS_CUDA. It takes nvcc and the driver's header, no GPU.
option(HOX_WITH_CUDA "Build the CUDA half of runtimes where nvcc is there" ON)

# Machine code for these (those that nvcc knows), and PTX for what comes after them.
set(HOX_CUDA_ARCHITECTURES 75 80 86 89 90 100 120)
set(HOX_CUDA_PTX 90)

set(HOX_HAS_CUDA OFF)
if(HOX_WITH_CUDA)
  find_package(CUDAToolkit QUIET)
endif()
if(HOX_WITH_CUDA AND CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
  set(HOX_HAS_CUDA ON)
  execute_process(COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} --list-gpu-code OUTPUT_VARIABLE known)
  set(HOX_CUDA_CODE -gencode arch=compute_${HOX_CUDA_PTX},code=compute_${HOX_CUDA_PTX})
  foreach(architecture ${HOX_CUDA_ARCHITECTURES})
    if(known MATCHES "sm_${architecture}[^0-9a-z]")
      list(APPEND HOX_CUDA_CODE -gencode arch=compute_${architecture},code=sm_${architecture})
    endif()
  endforeach()
  message(STATUS "CUDA ${CUDAToolkit_VERSION}: ${CUDAToolkit_NVCC_EXECUTABLE}")
else()
  message(STATUS "CUDA: not built; runtimes answer \"built without CUDA\" (nvcc is not there, or HOX_WITH_CUDA is off)")
endif()
