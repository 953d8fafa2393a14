// Types of the Windows programming interface, written for this project from its documented facts.
// Lines that begin with "//@" name the category of the types that follow. Text between them is C;
// the functions are in windows_functions.h.

//@windef.h
typedef void VOID, *PVOID, *LPVOID;
typedef const void *LPCVOID, *PCVOID;
typedef char CHAR, *PCHAR, *LPCH, *PCH;
typedef char *LPSTR, *PSTR, *NPSTR;
typedef const char *LPCSTR, *PCSTR;
typedef wchar_t WCHAR, *PWCHAR, *LPWCH, *PWCH;
typedef wchar_t OLECHAR;
typedef WCHAR *LPWSTR, *PWSTR, *NWPSTR, *LPOLESTR, *BSTR;
typedef const WCHAR *LPCWSTR, *PCWSTR, *LPCOLESTR;
typedef PWSTR *PZPWSTR;
typedef signed char INT8, *PINT8;
typedef unsigned char UCHAR, *PUCHAR, BYTE, *PBYTE, *LPBYTE, BOOLEAN, *PBOOLEAN, UINT8, *PUINT8;
typedef short SHORT, *PSHORT, INT16, *PINT16;
typedef unsigned short USHORT, *PUSHORT, WORD, *PWORD, *LPWORD, UINT16, *PUINT16, ATOM, LANGID;
typedef int INT, *PINT, *LPINT, INT32, *PINT32, BOOL, *PBOOL, *LPBOOL;
typedef unsigned int UINT, *PUINT, UINT32, *PUINT32, DWORD32, *PDWORD32, ULONG32, *PULONG32;
typedef long LONG, *PLONG, *LPLONG, HRESULT, LONG32, *PLONG32, NTSTATUS, *PNTSTATUS, LSTATUS, SCODE;
typedef unsigned long ULONG, *PULONG, DWORD, *PDWORD, *LPDWORD, LCID, *PLCID, LCTYPE, COLORREF;
typedef COLORREF *LPCOLORREF;
typedef unsigned long ACCESS_MASK, *PACCESS_MASK, REGSAM, SECURITY_INFORMATION, EXECUTION_STATE;
typedef long long LONGLONG, *PLONGLONG, LONG64, *PLONG64, INT64, *PINT64;
typedef unsigned long long ULONGLONG, *PULONGLONG, DWORDLONG, *PDWORDLONG, ULONG64, *PULONG64;
typedef unsigned long long DWORD64, *PDWORD64, UINT64, *PUINT64;
typedef float FLOAT, *PFLOAT;
typedef double DOUBLE;
typedef double DATE;
typedef intptr_t INT_PTR, *PINT_PTR, LPARAM, LRESULT, SSIZE_T, *PSSIZE_T, SSIZE_T_;
#ifdef _WIN64
typedef long long LONG_PTR, *PLONG_PTR;
typedef unsigned long long ULONG_PTR, *PULONG_PTR, DWORD_PTR, *PDWORD_PTR, SIZE_T, *PSIZE_T;
typedef unsigned long long UINT_PTR, *PUINT_PTR, WPARAM, KAFFINITY, SOCKET;
#else
typedef long LONG_PTR, *PLONG_PTR;
typedef unsigned long ULONG_PTR, *PULONG_PTR, DWORD_PTR, *PDWORD_PTR, SIZE_T, *PSIZE_T;
typedef unsigned int UINT_PTR, *PUINT_PTR, WPARAM, SOCKET;
typedef unsigned long KAFFINITY;
#endif
typedef void *HANDLE, **PHANDLE, **LPHANDLE;
typedef HANDLE HGLOBAL, HLOCAL, HINTERNET, HCRYPTMSG, HCERTSTORE;
typedef struct HINSTANCE__ { int unused; } *HINSTANCE, *HMODULE, **PHMODULE;
typedef struct HWND__ { int unused; } *HWND;
typedef struct HKEY__ { int unused; } *HKEY, **PHKEY;
typedef struct HDC__ { int unused; } *HDC;
typedef struct HMENU__ { int unused; } *HMENU;
typedef struct HICON__ { int unused; } *HICON;
typedef HICON HCURSOR;
typedef struct HBRUSH__ { int unused; } *HBRUSH;
typedef struct HPEN__ { int unused; } *HPEN;
typedef struct HFONT__ { int unused; } *HFONT;
typedef struct HBITMAP__ { int unused; } *HBITMAP;
typedef struct HPALETTE__ { int unused; } *HPALETTE;
typedef struct HRGN__ { int unused; } *HRGN;
typedef struct HRSRC__ { int unused; } *HRSRC;
typedef struct HHOOK__ { int unused; } *HHOOK;
typedef struct HKL__ { int unused; } *HKL;
typedef struct HDESK__ { int unused; } *HDESK;
typedef struct HWINSTA__ { int unused; } *HWINSTA;
typedef struct HMONITOR__ { int unused; } *HMONITOR;
typedef struct HACCEL__ { int unused; } *HACCEL;
typedef struct HDROP__ { int unused; } *HDROP;
typedef struct SC_HANDLE__ { int unused; } *SC_HANDLE;
typedef struct SERVICE_STATUS_HANDLE__ { int unused; } *SERVICE_STATUS_HANDLE;
typedef void *HGDIOBJ;
typedef int HFILE;
typedef INT_PTR (__stdcall *FARPROC)(void);
typedef INT_PTR (__stdcall *PROC)(void);
typedef struct tagPOINT { LONG x; LONG y; } POINT, *PPOINT, *LPPOINT;
typedef struct tagSIZE { LONG cx; LONG cy; } SIZE, *PSIZE, *LPSIZE;
typedef struct tagRECT { LONG left; LONG top; LONG right; LONG bottom; } RECT, *PRECT, *LPRECT;
typedef const RECT *LPCRECT;
typedef struct _FILETIME { DWORD dwLowDateTime; DWORD dwHighDateTime; } FILETIME, *PFILETIME, *LPFILETIME;
typedef struct _GUID { DWORD Data1; WORD Data2; WORD Data3; BYTE Data4[8]; } GUID, *LPGUID, IID, *LPIID, CLSID, *LPCLSID;
typedef const GUID *REFGUID, *REFIID, *REFCLSID;

//@winnt.h
typedef union _LARGE_INTEGER {
    struct { DWORD LowPart; LONG HighPart; };
    struct { DWORD LowPart; LONG HighPart; } u;
    LONGLONG QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;
typedef union _ULARGE_INTEGER {
    struct { DWORD LowPart; DWORD HighPart; };
    struct { DWORD LowPart; DWORD HighPart; } u;
    ULONGLONG QuadPart;
} ULARGE_INTEGER, *PULARGE_INTEGER;
typedef struct _LUID { DWORD LowPart; LONG HighPart; } LUID, *PLUID;
typedef struct _LIST_ENTRY { struct _LIST_ENTRY *Flink; struct _LIST_ENTRY *Blink; } LIST_ENTRY, *PLIST_ENTRY;
typedef struct _SINGLE_LIST_ENTRY { struct _SINGLE_LIST_ENTRY *Next; } SINGLE_LIST_ENTRY, *PSINGLE_LIST_ENTRY;
#ifdef _WIN64
typedef struct _SLIST_ENTRY *PSLIST_ENTRY;
typedef struct __declspec(align(16)) _SLIST_ENTRY { PSLIST_ENTRY Next; } SLIST_ENTRY;
typedef union __declspec(align(16)) _SLIST_HEADER { struct { ULONGLONG Alignment; ULONGLONG Region; }; } SLIST_HEADER, *PSLIST_HEADER;
#else
typedef struct _SINGLE_LIST_ENTRY SLIST_ENTRY, *PSLIST_ENTRY;
typedef union _SLIST_HEADER { ULONGLONG Alignment; struct { SLIST_ENTRY Next; WORD Depth; WORD Sequence; }; } SLIST_HEADER, *PSLIST_HEADER;
#endif
typedef struct _M128A { ULONGLONG Low; LONGLONG High; } __declspec(align(16)) M128A, *PM128A;
typedef struct _FLOATING_SAVE_AREA {
    DWORD ControlWord, StatusWord, TagWord, ErrorOffset, ErrorSelector, DataOffset, DataSelector;
    BYTE RegisterArea[80];
    DWORD Cr0NpxState;
} FLOATING_SAVE_AREA, *PFLOATING_SAVE_AREA;
#ifdef _WIN64
typedef struct __declspec(align(16)) _XSAVE_FORMAT {
    WORD ControlWord, StatusWord; BYTE TagWord, Reserved1; WORD ErrorOpcode; DWORD ErrorOffset;
    WORD ErrorSelector, Reserved2; DWORD DataOffset; WORD DataSelector, Reserved3;
    DWORD MxCsr, MxCsr_Mask; M128A FloatRegisters[8]; M128A XmmRegisters[16]; BYTE Reserved4[96];
} XSAVE_FORMAT, *PXSAVE_FORMAT, XMM_SAVE_AREA32;
typedef struct __declspec(align(16)) _CONTEXT {
    DWORD64 P1Home, P2Home, P3Home, P4Home, P5Home, P6Home;
    DWORD ContextFlags, MxCsr;
    WORD SegCs, SegDs, SegEs, SegFs, SegGs, SegSs;
    DWORD EFlags;
    DWORD64 Dr0, Dr1, Dr2, Dr3, Dr6, Dr7;
    DWORD64 Rax, Rcx, Rdx, Rbx, Rsp, Rbp, Rsi, Rdi, R8, R9, R10, R11, R12, R13, R14, R15, Rip;
    union {
        XMM_SAVE_AREA32 FltSave;
        struct {
            M128A Header[2]; M128A Legacy[8];
            M128A Xmm0, Xmm1, Xmm2, Xmm3, Xmm4, Xmm5, Xmm6, Xmm7, Xmm8, Xmm9, Xmm10, Xmm11, Xmm12, Xmm13, Xmm14, Xmm15;
        };
    };
    M128A VectorRegister[26];
    DWORD64 VectorControl, DebugControl, LastBranchToRip, LastBranchFromRip, LastExceptionToRip, LastExceptionFromRip;
} CONTEXT, *PCONTEXT, *LPCONTEXT;
typedef struct _RUNTIME_FUNCTION { DWORD BeginAddress; DWORD EndAddress; DWORD UnwindData; } RUNTIME_FUNCTION, *PRUNTIME_FUNCTION;
#else
typedef struct _CONTEXT {
    DWORD ContextFlags, Dr0, Dr1, Dr2, Dr3, Dr6, Dr7;
    FLOATING_SAVE_AREA FloatSave;
    DWORD SegGs, SegFs, SegEs, SegDs, Edi, Esi, Ebx, Edx, Ecx, Eax, Ebp, Eip, SegCs, EFlags, Esp, SegSs;
    BYTE ExtendedRegisters[512];
} CONTEXT, *PCONTEXT, *LPCONTEXT;
#endif
typedef struct _EXCEPTION_RECORD {
    DWORD ExceptionCode; DWORD ExceptionFlags; struct _EXCEPTION_RECORD *ExceptionRecord;
    PVOID ExceptionAddress; DWORD NumberParameters; ULONG_PTR ExceptionInformation[15];
} EXCEPTION_RECORD, *PEXCEPTION_RECORD;
typedef struct _EXCEPTION_POINTERS { PEXCEPTION_RECORD ExceptionRecord; PCONTEXT ContextRecord; } EXCEPTION_POINTERS, *PEXCEPTION_POINTERS, *LPEXCEPTION_POINTERS;
typedef enum _EXCEPTION_DISPOSITION { ExceptionContinueExecution, ExceptionContinueSearch, ExceptionNestedException, ExceptionCollidedUnwind } EXCEPTION_DISPOSITION;
typedef EXCEPTION_DISPOSITION (__cdecl *PEXCEPTION_ROUTINE)(PEXCEPTION_RECORD record, PVOID frame, PCONTEXT context, PVOID dispatcher);
typedef struct _EXCEPTION_REGISTRATION_RECORD { struct _EXCEPTION_REGISTRATION_RECORD *Next; PEXCEPTION_ROUTINE Handler; } EXCEPTION_REGISTRATION_RECORD, *PEXCEPTION_REGISTRATION_RECORD;
typedef LONG (__stdcall *PVECTORED_EXCEPTION_HANDLER)(PEXCEPTION_POINTERS info);
typedef LONG (__stdcall *LPTOP_LEVEL_EXCEPTION_FILTER)(PEXCEPTION_POINTERS info);
typedef struct _NT_TIB {
    PEXCEPTION_REGISTRATION_RECORD ExceptionList; PVOID StackBase; PVOID StackLimit; PVOID SubSystemTib;
    union { PVOID FiberData; DWORD Version; }; PVOID ArbitraryUserPointer; struct _NT_TIB *Self;
} NT_TIB, *PNT_TIB;
typedef struct _MEMORY_BASIC_INFORMATION {
    PVOID BaseAddress; PVOID AllocationBase; DWORD AllocationProtect;
#ifdef _WIN64
    WORD PartitionId;
#endif
    SIZE_T RegionSize; DWORD State; DWORD Protect; DWORD Type;
} MEMORY_BASIC_INFORMATION, *PMEMORY_BASIC_INFORMATION;
typedef struct _SID_IDENTIFIER_AUTHORITY { BYTE Value[6]; } SID_IDENTIFIER_AUTHORITY, *PSID_IDENTIFIER_AUTHORITY;
typedef struct _SID { BYTE Revision; BYTE SubAuthorityCount; SID_IDENTIFIER_AUTHORITY IdentifierAuthority; DWORD SubAuthority[1]; } SID;
typedef PVOID PSID;
typedef struct _ACL { BYTE AclRevision; BYTE Sbz1; WORD AclSize; WORD AceCount; WORD Sbz2; } ACL, *PACL;
typedef WORD SECURITY_DESCRIPTOR_CONTROL;
typedef struct _SECURITY_DESCRIPTOR { BYTE Revision; BYTE Sbz1; SECURITY_DESCRIPTOR_CONTROL Control; PSID Owner; PSID Group; PACL Sacl; PACL Dacl; } SECURITY_DESCRIPTOR;
typedef PVOID PSECURITY_DESCRIPTOR;
typedef struct _LUID_AND_ATTRIBUTES { LUID Luid; DWORD Attributes; } LUID_AND_ATTRIBUTES, *PLUID_AND_ATTRIBUTES;
typedef struct _SID_AND_ATTRIBUTES { PSID Sid; DWORD Attributes; } SID_AND_ATTRIBUTES, *PSID_AND_ATTRIBUTES;
typedef struct _TOKEN_PRIVILEGES { DWORD PrivilegeCount; LUID_AND_ATTRIBUTES Privileges[1]; } TOKEN_PRIVILEGES, *PTOKEN_PRIVILEGES;
typedef struct _TOKEN_USER { SID_AND_ATTRIBUTES User; } TOKEN_USER, *PTOKEN_USER;
typedef enum _TOKEN_INFORMATION_CLASS {
    TokenUser = 1, TokenGroups, TokenPrivileges, TokenOwner, TokenPrimaryGroup, TokenDefaultDacl, TokenSource, TokenType,
    TokenImpersonationLevel, TokenStatistics, TokenRestrictedSids, TokenSessionId, TokenGroupsAndPrivileges,
    TokenSessionReference, TokenSandBoxInert, TokenAuditPolicy, TokenOrigin, TokenElevationType, TokenLinkedToken,
    TokenElevation, TokenHasRestrictions, TokenAccessInformation, TokenVirtualizationAllowed,
    TokenVirtualizationEnabled, TokenIntegrityLevel, TokenUIAccess, TokenMandatoryPolicy, TokenLogonSid
} TOKEN_INFORMATION_CLASS;
typedef enum _SECURITY_IMPERSONATION_LEVEL { SecurityAnonymous, SecurityIdentification, SecurityImpersonation, SecurityDelegation } SECURITY_IMPERSONATION_LEVEL;
typedef enum _TOKEN_TYPE { TokenPrimary = 1, TokenImpersonation } TOKEN_TYPE;
typedef enum _SID_NAME_USE { SidTypeUser = 1, SidTypeGroup, SidTypeDomain, SidTypeAlias, SidTypeWellKnownGroup, SidTypeDeletedAccount, SidTypeInvalid, SidTypeUnknown, SidTypeComputer, SidTypeLabel } SID_NAME_USE, *PSID_NAME_USE;
typedef struct _OSVERSIONINFOA { DWORD dwOSVersionInfoSize, dwMajorVersion, dwMinorVersion, dwBuildNumber, dwPlatformId; CHAR szCSDVersion[128]; } OSVERSIONINFOA, *POSVERSIONINFOA, *LPOSVERSIONINFOA;
typedef struct _OSVERSIONINFOW { DWORD dwOSVersionInfoSize, dwMajorVersion, dwMinorVersion, dwBuildNumber, dwPlatformId; WCHAR szCSDVersion[128]; } OSVERSIONINFOW, *POSVERSIONINFOW, *LPOSVERSIONINFOW;
typedef struct _OSVERSIONINFOEXA { DWORD dwOSVersionInfoSize, dwMajorVersion, dwMinorVersion, dwBuildNumber, dwPlatformId; CHAR szCSDVersion[128]; WORD wServicePackMajor, wServicePackMinor, wSuiteMask; BYTE wProductType, wReserved; } OSVERSIONINFOEXA, *LPOSVERSIONINFOEXA;
typedef struct _OSVERSIONINFOEXW { DWORD dwOSVersionInfoSize, dwMajorVersion, dwMinorVersion, dwBuildNumber, dwPlatformId; WCHAR szCSDVersion[128]; WORD wServicePackMajor, wServicePackMinor, wSuiteMask; BYTE wProductType, wReserved; } OSVERSIONINFOEXW, *LPOSVERSIONINFOEXW;
#pragma pack(push, 2)
typedef struct _IMAGE_DOS_HEADER {
    WORD e_magic, e_cblp, e_cp, e_crlc, e_cparhdr, e_minalloc, e_maxalloc, e_ss, e_sp, e_csum, e_ip, e_cs, e_lfarlc, e_ovno, e_res[4], e_oemid, e_oeminfo, e_res2[10];
    LONG e_lfanew;
} IMAGE_DOS_HEADER, *PIMAGE_DOS_HEADER;
#pragma pack(pop)
#pragma pack(push, 4)
typedef struct _IMAGE_FILE_HEADER { WORD Machine, NumberOfSections; DWORD TimeDateStamp, PointerToSymbolTable, NumberOfSymbols; WORD SizeOfOptionalHeader, Characteristics; } IMAGE_FILE_HEADER, *PIMAGE_FILE_HEADER;
typedef struct _IMAGE_DATA_DIRECTORY { DWORD VirtualAddress; DWORD Size; } IMAGE_DATA_DIRECTORY, *PIMAGE_DATA_DIRECTORY;
typedef struct _IMAGE_OPTIONAL_HEADER32_ {
    WORD Magic; BYTE MajorLinkerVersion, MinorLinkerVersion;
    DWORD SizeOfCode, SizeOfInitializedData, SizeOfUninitializedData, AddressOfEntryPoint, BaseOfCode, BaseOfData, ImageBase, SectionAlignment, FileAlignment;
    WORD MajorOperatingSystemVersion, MinorOperatingSystemVersion, MajorImageVersion, MinorImageVersion, MajorSubsystemVersion, MinorSubsystemVersion;
    DWORD Win32VersionValue, SizeOfImage, SizeOfHeaders, CheckSum; WORD Subsystem, DllCharacteristics;
    DWORD SizeOfStackReserve, SizeOfStackCommit, SizeOfHeapReserve, SizeOfHeapCommit, LoaderFlags, NumberOfRvaAndSizes;
    IMAGE_DATA_DIRECTORY DataDirectory[16];
} IMAGE_OPTIONAL_HEADER32_T;
typedef struct _IMAGE_OPTIONAL_HEADER64_ {
    WORD Magic; BYTE MajorLinkerVersion, MinorLinkerVersion;
    DWORD SizeOfCode, SizeOfInitializedData, SizeOfUninitializedData, AddressOfEntryPoint, BaseOfCode;
    ULONGLONG ImageBase; DWORD SectionAlignment, FileAlignment;
    WORD MajorOperatingSystemVersion, MinorOperatingSystemVersion, MajorImageVersion, MinorImageVersion, MajorSubsystemVersion, MinorSubsystemVersion;
    DWORD Win32VersionValue, SizeOfImage, SizeOfHeaders, CheckSum; WORD Subsystem, DllCharacteristics;
    ULONGLONG SizeOfStackReserve, SizeOfStackCommit, SizeOfHeapReserve, SizeOfHeapCommit; DWORD LoaderFlags, NumberOfRvaAndSizes;
    IMAGE_DATA_DIRECTORY DataDirectory[16];
} IMAGE_OPTIONAL_HEADER64_T;
typedef struct _IMAGE_NT_HEADERS { DWORD Signature; IMAGE_FILE_HEADER FileHeader;
#ifdef _WIN64
    IMAGE_OPTIONAL_HEADER64_T OptionalHeader;
#else
    IMAGE_OPTIONAL_HEADER32_T OptionalHeader;
#endif
} IMAGE_NT_HEADERS, *PIMAGE_NT_HEADERS;
typedef struct _IMAGE_EXPORT_DIRECTORY { DWORD Characteristics, TimeDateStamp; WORD MajorVersion, MinorVersion; DWORD Name, Base, NumberOfFunctions, NumberOfNames, AddressOfFunctions, AddressOfNames, AddressOfNameOrdinals; } IMAGE_EXPORT_DIRECTORY, *PIMAGE_EXPORT_DIRECTORY;
typedef struct _IMAGE_IMPORT_DESCRIPTOR { DWORD OriginalFirstThunk, TimeDateStamp, ForwarderChain, Name, FirstThunk; } IMAGE_IMPORT_DESCRIPTOR, *PIMAGE_IMPORT_DESCRIPTOR;
#pragma pack(pop)
typedef struct _RTL_CRITICAL_SECTION_DEBUG {
    WORD Type, CreatorBackTraceIndex; struct _RTL_CRITICAL_SECTION *CriticalSection; LIST_ENTRY ProcessLocksList;
    DWORD EntryCount, ContentionCount, Flags; WORD CreatorBackTraceIndexHigh, SpareWORD;
} RTL_CRITICAL_SECTION_DEBUG, *PRTL_CRITICAL_SECTION_DEBUG;
typedef struct _RTL_CRITICAL_SECTION {
    PRTL_CRITICAL_SECTION_DEBUG DebugInfo; LONG LockCount; LONG RecursionCount; HANDLE OwningThread; HANDLE LockSemaphore; ULONG_PTR SpinCount;
} RTL_CRITICAL_SECTION, *PRTL_CRITICAL_SECTION, CRITICAL_SECTION, *PCRITICAL_SECTION, *LPCRITICAL_SECTION;
typedef struct _RTL_SRWLOCK { PVOID Ptr; } RTL_SRWLOCK, *PRTL_SRWLOCK, SRWLOCK, *PSRWLOCK;
typedef struct _RTL_CONDITION_VARIABLE { PVOID Ptr; } CONDITION_VARIABLE, *PCONDITION_VARIABLE;
typedef union _RTL_RUN_ONCE { PVOID Ptr; } INIT_ONCE, *PINIT_ONCE, *LPINIT_ONCE;
typedef void (__stdcall *WAITORTIMERCALLBACK)(PVOID parameter, BOOLEAN timer);

//@winternl.h
typedef struct _UNICODE_STRING { USHORT Length; USHORT MaximumLength; PWSTR Buffer; } UNICODE_STRING, *PUNICODE_STRING;
typedef const UNICODE_STRING *PCUNICODE_STRING;
typedef struct _STRING { USHORT Length; USHORT MaximumLength; PCHAR Buffer; } STRING, *PSTRING, ANSI_STRING, *PANSI_STRING, OEM_STRING;
typedef struct _OBJECT_ATTRIBUTES { ULONG Length; HANDLE RootDirectory; PUNICODE_STRING ObjectName; ULONG Attributes; PVOID SecurityDescriptor; PVOID SecurityQualityOfService; } OBJECT_ATTRIBUTES, *POBJECT_ATTRIBUTES;
typedef struct _IO_STATUS_BLOCK { union { NTSTATUS Status; PVOID Pointer; }; ULONG_PTR Information; } IO_STATUS_BLOCK, *PIO_STATUS_BLOCK;
typedef struct _CLIENT_ID { HANDLE UniqueProcess; HANDLE UniqueThread; } CLIENT_ID, *PCLIENT_ID;
typedef void (__stdcall *PIO_APC_ROUTINE)(PVOID context, PIO_STATUS_BLOCK status, ULONG reserved);
typedef struct _CURDIR { UNICODE_STRING DosPath; HANDLE Handle; } CURDIR, *PCURDIR;
typedef struct _RTL_DRIVE_LETTER_CURDIR { USHORT Flags; USHORT Length; ULONG TimeStamp; STRING DosPath; } RTL_DRIVE_LETTER_CURDIR;
typedef struct _RTL_USER_PROCESS_PARAMETERS {
    ULONG MaximumLength, Length, Flags, DebugFlags; HANDLE ConsoleHandle; ULONG ConsoleFlags;
    HANDLE StandardInput, StandardOutput, StandardError; CURDIR CurrentDirectory;
    UNICODE_STRING DllPath, ImagePathName, CommandLine; PVOID Environment;
    ULONG StartingX, StartingY, CountX, CountY, CountCharsX, CountCharsY, FillAttribute, WindowFlags, ShowWindowFlags;
    UNICODE_STRING WindowTitle, DesktopInfo, ShellInfo, RuntimeData; RTL_DRIVE_LETTER_CURDIR CurrentDirectories[32];
} RTL_USER_PROCESS_PARAMETERS, *PRTL_USER_PROCESS_PARAMETERS;
typedef struct _PEB_LDR_DATA {
    ULONG Length; BOOLEAN Initialized; HANDLE SsHandle;
    LIST_ENTRY InLoadOrderModuleList, InMemoryOrderModuleList, InInitializationOrderModuleList;
    PVOID EntryInProgress; BOOLEAN ShutdownInProgress; HANDLE ShutdownThreadId;
} PEB_LDR_DATA, *PPEB_LDR_DATA;
typedef struct _LDR_DATA_TABLE_ENTRY {
    LIST_ENTRY InLoadOrderLinks, InMemoryOrderLinks, InInitializationOrderLinks;
    PVOID DllBase; PVOID EntryPoint; ULONG SizeOfImage; UNICODE_STRING FullDllName, BaseDllName;
    ULONG Flags; USHORT ObsoleteLoadCount; USHORT TlsIndex; LIST_ENTRY HashLinks; ULONG TimeDateStamp;
} LDR_DATA_TABLE_ENTRY, *PLDR_DATA_TABLE_ENTRY;
typedef struct _PEB {
    BOOLEAN InheritedAddressSpace, ReadImageFileExecOptions, BeingDebugged, BitField; HANDLE Mutant; PVOID ImageBaseAddress;
    PPEB_LDR_DATA Ldr; PRTL_USER_PROCESS_PARAMETERS ProcessParameters; PVOID SubSystemData; HANDLE ProcessHeap;
    PRTL_CRITICAL_SECTION FastPebLock; PSLIST_HEADER AtlThunkSListPtr; PVOID IFEOKey; ULONG CrossProcessFlags;
    PVOID KernelCallbackTable; ULONG SystemReserved; ULONG AtlThunkSListPtr32; PVOID ApiSetMap; ULONG TlsExpansionCounter;
    PVOID TlsBitmap; ULONG TlsBitmapBits[2]; PVOID ReadOnlySharedMemoryBase, SharedData; PVOID *ReadOnlyStaticServerData;
    PVOID AnsiCodePageData, OemCodePageData, UnicodeCaseTableData; ULONG NumberOfProcessors; ULONG NtGlobalFlag;
    LARGE_INTEGER CriticalSectionTimeout; SIZE_T HeapSegmentReserve, HeapSegmentCommit, HeapDeCommitTotalFreeThreshold, HeapDeCommitFreeBlockThreshold;
    ULONG NumberOfHeaps, MaximumNumberOfHeaps; PVOID *ProcessHeaps; PVOID GdiSharedHandleTable, ProcessStarterHelper; ULONG GdiDCAttributeList;
    PRTL_CRITICAL_SECTION LoaderLock; ULONG OSMajorVersion, OSMinorVersion; USHORT OSBuildNumber, OSCSDVersion; ULONG OSPlatformId;
    ULONG ImageSubsystem, ImageSubsystemMajorVersion, ImageSubsystemMinorVersion; ULONG_PTR ActiveProcessAffinityMask;
#ifdef _WIN64
    ULONG GdiHandleBuffer[60];
#else
    ULONG GdiHandleBuffer[34];
#endif
    PVOID PostProcessInitRoutine; PVOID TlsExpansionBitmap; ULONG TlsExpansionBitmapBits[32]; ULONG SessionId;
} PEB, *PPEB;
// Its beginning; what follows differs between versions.
typedef struct _TEB {
    NT_TIB NtTib; PVOID EnvironmentPointer; CLIENT_ID ClientId; PVOID ActiveRpcHandle, ThreadLocalStoragePointer;
    PPEB ProcessEnvironmentBlock; ULONG LastErrorValue, CountOfOwnedCriticalSections; PVOID CsrClientThread, Win32ThreadInfo;
    ULONG User32Reserved[26], UserReserved[5]; PVOID WOW32Reserved; LCID CurrentLocale; ULONG FpSoftwareStatusRegister;
} TEB, *PTEB;
typedef ULONG SYSTEM_INFORMATION_CLASS, PROCESSINFOCLASS, THREADINFOCLASS, FILE_INFORMATION_CLASS, OBJECT_INFORMATION_CLASS, KEY_VALUE_INFORMATION_CLASS, MEMORY_INFORMATION_CLASS, SECTION_INHERIT, EVENT_TYPE;
typedef struct _PROCESS_BASIC_INFORMATION { NTSTATUS ExitStatus; PPEB PebBaseAddress; ULONG_PTR AffinityMask; LONG BasePriority; ULONG_PTR UniqueProcessId; ULONG_PTR InheritedFromUniqueProcessId; } PROCESS_BASIC_INFORMATION, *PPROCESS_BASIC_INFORMATION;

//@winbase.h
typedef struct _SECURITY_ATTRIBUTES { DWORD nLength; LPVOID lpSecurityDescriptor; BOOL bInheritHandle; } SECURITY_ATTRIBUTES, *PSECURITY_ATTRIBUTES, *LPSECURITY_ATTRIBUTES;
typedef struct _OVERLAPPED { ULONG_PTR Internal; ULONG_PTR InternalHigh; union { struct { DWORD Offset; DWORD OffsetHigh; }; PVOID Pointer; }; HANDLE hEvent; } OVERLAPPED, *POVERLAPPED, *LPOVERLAPPED;
typedef struct _OVERLAPPED_ENTRY { ULONG_PTR lpCompletionKey; LPOVERLAPPED lpOverlapped; ULONG_PTR Internal; DWORD dwNumberOfBytesTransferred; } OVERLAPPED_ENTRY, *LPOVERLAPPED_ENTRY;
typedef struct _SYSTEMTIME { WORD wYear, wMonth, wDayOfWeek, wDay, wHour, wMinute, wSecond, wMilliseconds; } SYSTEMTIME, *PSYSTEMTIME, *LPSYSTEMTIME;
typedef struct _TIME_ZONE_INFORMATION { LONG Bias; WCHAR StandardName[32]; SYSTEMTIME StandardDate; LONG StandardBias; WCHAR DaylightName[32]; SYSTEMTIME DaylightDate; LONG DaylightBias; } TIME_ZONE_INFORMATION, *LPTIME_ZONE_INFORMATION;
typedef struct _PROCESS_INFORMATION { HANDLE hProcess; HANDLE hThread; DWORD dwProcessId; DWORD dwThreadId; } PROCESS_INFORMATION, *PPROCESS_INFORMATION, *LPPROCESS_INFORMATION;
typedef struct _STARTUPINFOA { DWORD cb; LPSTR lpReserved, lpDesktop, lpTitle; DWORD dwX, dwY, dwXSize, dwYSize, dwXCountChars, dwYCountChars, dwFillAttribute, dwFlags; WORD wShowWindow, cbReserved2; LPBYTE lpReserved2; HANDLE hStdInput, hStdOutput, hStdError; } STARTUPINFOA, *LPSTARTUPINFOA;
typedef struct _STARTUPINFOW { DWORD cb; LPWSTR lpReserved, lpDesktop, lpTitle; DWORD dwX, dwY, dwXSize, dwYSize, dwXCountChars, dwYCountChars, dwFillAttribute, dwFlags; WORD wShowWindow, cbReserved2; LPBYTE lpReserved2; HANDLE hStdInput, hStdOutput, hStdError; } STARTUPINFOW, *LPSTARTUPINFOW;
typedef struct _WIN32_FIND_DATAA { DWORD dwFileAttributes; FILETIME ftCreationTime, ftLastAccessTime, ftLastWriteTime; DWORD nFileSizeHigh, nFileSizeLow, dwReserved0, dwReserved1; CHAR cFileName[260]; CHAR cAlternateFileName[14]; } WIN32_FIND_DATAA, *PWIN32_FIND_DATAA, *LPWIN32_FIND_DATAA;
typedef struct _WIN32_FIND_DATAW { DWORD dwFileAttributes; FILETIME ftCreationTime, ftLastAccessTime, ftLastWriteTime; DWORD nFileSizeHigh, nFileSizeLow, dwReserved0, dwReserved1; WCHAR cFileName[260]; WCHAR cAlternateFileName[14]; } WIN32_FIND_DATAW, *PWIN32_FIND_DATAW, *LPWIN32_FIND_DATAW;
typedef struct _WIN32_FILE_ATTRIBUTE_DATA { DWORD dwFileAttributes; FILETIME ftCreationTime, ftLastAccessTime, ftLastWriteTime; DWORD nFileSizeHigh, nFileSizeLow; } WIN32_FILE_ATTRIBUTE_DATA, *LPWIN32_FILE_ATTRIBUTE_DATA;
typedef struct _BY_HANDLE_FILE_INFORMATION { DWORD dwFileAttributes; FILETIME ftCreationTime, ftLastAccessTime, ftLastWriteTime; DWORD dwVolumeSerialNumber, nFileSizeHigh, nFileSizeLow, nNumberOfLinks, nFileIndexHigh, nFileIndexLow; } BY_HANDLE_FILE_INFORMATION, *LPBY_HANDLE_FILE_INFORMATION;
typedef struct _SYSTEM_INFO { union { DWORD dwOemId; struct { WORD wProcessorArchitecture; WORD wReserved; }; }; DWORD dwPageSize; LPVOID lpMinimumApplicationAddress, lpMaximumApplicationAddress; DWORD_PTR dwActiveProcessorMask; DWORD dwNumberOfProcessors, dwProcessorType, dwAllocationGranularity; WORD wProcessorLevel, wProcessorRevision; } SYSTEM_INFO, *LPSYSTEM_INFO;
typedef struct _MEMORYSTATUS { DWORD dwLength, dwMemoryLoad; SIZE_T dwTotalPhys, dwAvailPhys, dwTotalPageFile, dwAvailPageFile, dwTotalVirtual, dwAvailVirtual; } MEMORYSTATUS, *LPMEMORYSTATUS;
typedef struct _MEMORYSTATUSEX { DWORD dwLength, dwMemoryLoad; DWORDLONG ullTotalPhys, ullAvailPhys, ullTotalPageFile, ullAvailPageFile, ullTotalVirtual, ullAvailVirtual, ullAvailExtendedVirtual; } MEMORYSTATUSEX, *LPMEMORYSTATUSEX;
typedef struct _COORD { SHORT X; SHORT Y; } COORD, *PCOORD;
typedef struct _SMALL_RECT { SHORT Left, Top, Right, Bottom; } SMALL_RECT, *PSMALL_RECT;
typedef struct _CONSOLE_CURSOR_INFO { DWORD dwSize; BOOL bVisible; } CONSOLE_CURSOR_INFO, *PCONSOLE_CURSOR_INFO;
typedef struct _CHAR_INFO { union { WCHAR UnicodeChar; CHAR AsciiChar; } Char; WORD Attributes; } CHAR_INFO, *PCHAR_INFO;
typedef struct _IO_COUNTERS { ULONGLONG ReadOperationCount, WriteOperationCount, OtherOperationCount, ReadTransferCount, WriteTransferCount, OtherTransferCount; } IO_COUNTERS, *PIO_COUNTERS;
typedef struct _PROCESS_MEMORY_COUNTERS { DWORD cb, PageFaultCount; SIZE_T PeakWorkingSetSize, WorkingSetSize, QuotaPeakPagedPoolUsage, QuotaPagedPoolUsage, QuotaPeakNonPagedPoolUsage, QuotaNonPagedPoolUsage, PagefileUsage, PeakPagefileUsage; } PROCESS_MEMORY_COUNTERS, *PPROCESS_MEMORY_COUNTERS;
typedef struct _SYSTEM_POWER_STATUS { BYTE ACLineStatus, BatteryFlag, BatteryLifePercent, SystemStatusFlag; DWORD BatteryLifeTime, BatteryFullLifeTime; } SYSTEM_POWER_STATUS, *LPSYSTEM_POWER_STATUS;
typedef struct _CONSOLE_SCREEN_BUFFER_INFO { COORD dwSize, dwCursorPosition; WORD wAttributes; SMALL_RECT srWindow; COORD dwMaximumWindowSize; } CONSOLE_SCREEN_BUFFER_INFO, *PCONSOLE_SCREEN_BUFFER_INFO;
typedef struct _CPINFO { UINT MaxCharSize; BYTE DefaultChar[2]; BYTE LeadByte[12]; } CPINFO, *LPCPINFO;
typedef struct _COMMTIMEOUTS { DWORD ReadIntervalTimeout, ReadTotalTimeoutMultiplier, ReadTotalTimeoutConstant, WriteTotalTimeoutMultiplier, WriteTotalTimeoutConstant; } COMMTIMEOUTS, *LPCOMMTIMEOUTS;
typedef struct _DCB DCB, *LPDCB;
typedef struct _INPUT_RECORD INPUT_RECORD, *PINPUT_RECORD;
typedef struct _DEBUG_EVENT DEBUG_EVENT, *LPDEBUG_EVENT;
typedef struct tagPROCESSENTRY32 { DWORD dwSize, cntUsage, th32ProcessID; ULONG_PTR th32DefaultHeapID; DWORD th32ModuleID, cntThreads, th32ParentProcessID; LONG pcPriClassBase; DWORD dwFlags; CHAR szExeFile[260]; } PROCESSENTRY32, *LPPROCESSENTRY32;
typedef struct tagPROCESSENTRY32W { DWORD dwSize, cntUsage, th32ProcessID; ULONG_PTR th32DefaultHeapID; DWORD th32ModuleID, cntThreads, th32ParentProcessID; LONG pcPriClassBase; DWORD dwFlags; WCHAR szExeFile[260]; } PROCESSENTRY32W, *LPPROCESSENTRY32W;
typedef struct tagTHREADENTRY32 { DWORD dwSize, cntUsage, th32ThreadID, th32OwnerProcessID; LONG tpBasePri, tpDeltaPri; DWORD dwFlags; } THREADENTRY32, *LPTHREADENTRY32;
typedef struct tagMODULEENTRY32 { DWORD dwSize, th32ModuleID, th32ProcessID, GlblcntUsage, ProccntUsage; BYTE *modBaseAddr; DWORD modBaseSize; HMODULE hModule; CHAR szModule[256]; CHAR szExePath[260]; } MODULEENTRY32, *LPMODULEENTRY32;
typedef struct tagMODULEENTRY32W { DWORD dwSize, th32ModuleID, th32ProcessID, GlblcntUsage, ProccntUsage; BYTE *modBaseAddr; DWORD modBaseSize; HMODULE hModule; WCHAR szModule[256]; WCHAR szExePath[260]; } MODULEENTRY32W, *LPMODULEENTRY32W;
typedef DWORD (__stdcall *LPTHREAD_START_ROUTINE)(LPVOID parameter);
typedef DWORD (__stdcall *PTHREAD_START_ROUTINE)(LPVOID parameter);
typedef void (__stdcall *PAPCFUNC)(ULONG_PTR parameter);
typedef void (__stdcall *PTIMERAPCROUTINE)(LPVOID argument, DWORD low, DWORD high);
typedef void (__stdcall *LPOVERLAPPED_COMPLETION_ROUTINE)(DWORD error, DWORD transferred, LPOVERLAPPED overlapped);
typedef BOOL (__stdcall *PHANDLER_ROUTINE)(DWORD type);
typedef void (__stdcall *LPFIBER_START_ROUTINE)(LPVOID parameter);
typedef void (__stdcall *PFLS_CALLBACK_FUNCTION)(PVOID data);
typedef BOOL (__stdcall *PINIT_ONCE_FN)(PINIT_ONCE once, PVOID parameter, PVOID *context);
typedef BOOL (__stdcall *LOCALE_ENUMPROCA)(LPSTR locale);
typedef BOOL (__stdcall *LOCALE_ENUMPROCW)(LPWSTR locale);
typedef BOOL (__stdcall *ENUMRESNAMEPROCA)(HMODULE module, LPCSTR type, LPSTR name, LONG_PTR param);
typedef BOOL (__stdcall *ENUMRESNAMEPROCW)(HMODULE module, LPCWSTR type, LPWSTR name, LONG_PTR param);
typedef struct _PROC_THREAD_ATTRIBUTE_LIST *LPPROC_THREAD_ATTRIBUTE_LIST;
typedef struct _TP_POOL *PTP_POOL;
typedef struct _TP_WORK *PTP_WORK;
typedef struct _TP_TIMER *PTP_TIMER;
typedef struct _TP_WAIT *PTP_WAIT;
typedef struct _TP_CALLBACK_INSTANCE *PTP_CALLBACK_INSTANCE;
typedef struct _TP_CALLBACK_ENVIRON *PTP_CALLBACK_ENVIRON;
typedef void (__stdcall *PTP_WORK_CALLBACK)(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_WORK work);
typedef void (__stdcall *PTP_TIMER_CALLBACK)(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_TIMER timer);
typedef enum _GET_FILEEX_INFO_LEVELS { GetFileExInfoStandard } GET_FILEEX_INFO_LEVELS;
typedef enum _FILE_INFO_BY_HANDLE_CLASS { FileBasicInfo, FileStandardInfo, FileNameInfo, FileRenameInfo, FileDispositionInfo } FILE_INFO_BY_HANDLE_CLASS;

//@winuser.h
typedef LRESULT (__stdcall *WNDPROC)(HWND window, UINT message, WPARAM wparam, LPARAM lparam);
typedef INT_PTR (__stdcall *DLGPROC)(HWND window, UINT message, WPARAM wparam, LPARAM lparam);
typedef void (__stdcall *TIMERPROC)(HWND window, UINT message, UINT_PTR id, DWORD time);
typedef LRESULT (__stdcall *HOOKPROC)(int code, WPARAM wparam, LPARAM lparam);
typedef BOOL (__stdcall *WNDENUMPROC)(HWND window, LPARAM param);
typedef BOOL (__stdcall *MONITORENUMPROC)(HMONITOR monitor, HDC dc, LPRECT rect, LPARAM param);
typedef struct tagMSG { HWND hwnd; UINT message; WPARAM wParam; LPARAM lParam; DWORD time; POINT pt; } MSG, *PMSG, *LPMSG;
typedef struct tagWNDCLASSA { UINT style; WNDPROC lpfnWndProc; int cbClsExtra, cbWndExtra; HINSTANCE hInstance; HICON hIcon; HCURSOR hCursor; HBRUSH hbrBackground; LPCSTR lpszMenuName, lpszClassName; } WNDCLASSA, *LPWNDCLASSA;
typedef struct tagWNDCLASSW { UINT style; WNDPROC lpfnWndProc; int cbClsExtra, cbWndExtra; HINSTANCE hInstance; HICON hIcon; HCURSOR hCursor; HBRUSH hbrBackground; LPCWSTR lpszMenuName, lpszClassName; } WNDCLASSW, *LPWNDCLASSW;
typedef struct tagWNDCLASSEXA { UINT cbSize, style; WNDPROC lpfnWndProc; int cbClsExtra, cbWndExtra; HINSTANCE hInstance; HICON hIcon; HCURSOR hCursor; HBRUSH hbrBackground; LPCSTR lpszMenuName, lpszClassName; HICON hIconSm; } WNDCLASSEXA, *LPWNDCLASSEXA;
typedef struct tagWNDCLASSEXW { UINT cbSize, style; WNDPROC lpfnWndProc; int cbClsExtra, cbWndExtra; HINSTANCE hInstance; HICON hIcon; HCURSOR hCursor; HBRUSH hbrBackground; LPCWSTR lpszMenuName, lpszClassName; HICON hIconSm; } WNDCLASSEXW, *LPWNDCLASSEXW;
typedef struct tagPAINTSTRUCT { HDC hdc; BOOL fErase; RECT rcPaint; BOOL fRestore, fIncUpdate; BYTE rgbReserved[32]; } PAINTSTRUCT, *LPPAINTSTRUCT;
typedef struct tagCREATESTRUCTA { LPVOID lpCreateParams; HINSTANCE hInstance; HMENU hMenu; HWND hwndParent; int cy, cx, y, x; LONG style; LPCSTR lpszName, lpszClass; DWORD dwExStyle; } CREATESTRUCTA, *LPCREATESTRUCTA;
typedef struct tagCREATESTRUCTW { LPVOID lpCreateParams; HINSTANCE hInstance; HMENU hMenu; HWND hwndParent; int cy, cx, y, x; LONG style; LPCWSTR lpszName, lpszClass; DWORD dwExStyle; } CREATESTRUCTW, *LPCREATESTRUCTW;
typedef struct tagKBDLLHOOKSTRUCT { DWORD vkCode, scanCode, flags, time; ULONG_PTR dwExtraInfo; } KBDLLHOOKSTRUCT, *LPKBDLLHOOKSTRUCT;
typedef struct tagLASTINPUTINFO { UINT cbSize; DWORD dwTime; } LASTINPUTINFO, *PLASTINPUTINFO;
typedef struct tagWINDOWPLACEMENT { UINT length, flags, showCmd; POINT ptMinPosition, ptMaxPosition; RECT rcNormalPosition; } WINDOWPLACEMENT, *LPWINDOWPLACEMENT;
typedef struct tagMONITORINFO { DWORD cbSize; RECT rcMonitor, rcWork; DWORD dwFlags; } MONITORINFO, *LPMONITORINFO;
typedef struct tagMENUITEMINFOA *LPMENUITEMINFOA;
typedef struct tagMENUITEMINFOW *LPMENUITEMINFOW;
typedef struct tagSCROLLINFO { UINT cbSize, fMask; int nMin, nMax; UINT nPage; int nPos, nTrackPos; } SCROLLINFO, *LPSCROLLINFO;
typedef struct tagINPUT *LPINPUT;
typedef struct tagCURSORINFO *PCURSORINFO;

//@wingdi.h
typedef struct tagBITMAPINFOHEADER { DWORD biSize; LONG biWidth, biHeight; WORD biPlanes, biBitCount; DWORD biCompression, biSizeImage; LONG biXPelsPerMeter, biYPelsPerMeter; DWORD biClrUsed, biClrImportant; } BITMAPINFOHEADER, *LPBITMAPINFOHEADER;
typedef struct tagRGBQUAD { BYTE rgbBlue, rgbGreen, rgbRed, rgbReserved; } RGBQUAD;
typedef struct tagBITMAPINFO { BITMAPINFOHEADER bmiHeader; RGBQUAD bmiColors[1]; } BITMAPINFO, *PBITMAPINFO, *LPBITMAPINFO;
typedef struct tagTEXTMETRICA *LPTEXTMETRICA;
typedef struct tagTEXTMETRICW *LPTEXTMETRICW;
typedef struct tagLOGFONTA { LONG lfHeight, lfWidth, lfEscapement, lfOrientation, lfWeight; BYTE lfItalic, lfUnderline, lfStrikeOut, lfCharSet, lfOutPrecision, lfClipPrecision, lfQuality, lfPitchAndFamily; CHAR lfFaceName[32]; } LOGFONTA, *LPLOGFONTA;
typedef struct tagLOGFONTW { LONG lfHeight, lfWidth, lfEscapement, lfOrientation, lfWeight; BYTE lfItalic, lfUnderline, lfStrikeOut, lfCharSet, lfOutPrecision, lfClipPrecision, lfQuality, lfPitchAndFamily; WCHAR lfFaceName[32]; } LOGFONTW, *LPLOGFONTW;

//@winsvc.h
typedef struct _SERVICE_STATUS { DWORD dwServiceType, dwCurrentState, dwControlsAccepted, dwWin32ExitCode, dwServiceSpecificExitCode, dwCheckPoint, dwWaitHint; } SERVICE_STATUS, *LPSERVICE_STATUS;
typedef void (__stdcall *LPSERVICE_MAIN_FUNCTIONA)(DWORD argc, LPSTR *argv);
typedef void (__stdcall *LPSERVICE_MAIN_FUNCTIONW)(DWORD argc, LPWSTR *argv);
typedef void (__stdcall *LPHANDLER_FUNCTION)(DWORD control);
typedef DWORD (__stdcall *LPHANDLER_FUNCTION_EX)(DWORD control, DWORD type, LPVOID data, LPVOID context);
typedef struct _SERVICE_TABLE_ENTRYA { LPSTR lpServiceName; LPSERVICE_MAIN_FUNCTIONA lpServiceProc; } SERVICE_TABLE_ENTRYA, *LPSERVICE_TABLE_ENTRYA;
typedef struct _SERVICE_TABLE_ENTRYW { LPWSTR lpServiceName; LPSERVICE_MAIN_FUNCTIONW lpServiceProc; } SERVICE_TABLE_ENTRYW, *LPSERVICE_TABLE_ENTRYW;
typedef struct _QUERY_SERVICE_CONFIGA *LPQUERY_SERVICE_CONFIGA;
typedef struct _QUERY_SERVICE_CONFIGW *LPQUERY_SERVICE_CONFIGW;
typedef struct _QUERY_SERVICE_CONFIGA { DWORD dwServiceType, dwStartType, dwErrorControl; LPSTR lpBinaryPathName, lpLoadOrderGroup; DWORD dwTagId; LPSTR lpDependencies, lpServiceStartName, lpDisplayName; } QUERY_SERVICE_CONFIGA, *LPQUERY_SERVICE_CONFIGA;
typedef struct _QUERY_SERVICE_CONFIGW { DWORD dwServiceType, dwStartType, dwErrorControl; LPWSTR lpBinaryPathName, lpLoadOrderGroup; DWORD dwTagId; LPWSTR lpDependencies, lpServiceStartName, lpDisplayName; } QUERY_SERVICE_CONFIGW, *LPQUERY_SERVICE_CONFIGW;

//@wincrypt.h
typedef ULONG_PTR HCRYPTPROV, HCRYPTKEY, HCRYPTHASH, HCRYPTPROV_LEGACY;
typedef unsigned int ALG_ID;
typedef struct _CRYPTOAPI_BLOB { DWORD cbData; BYTE *pbData; } DATA_BLOB, *PDATA_BLOB, CRYPT_INTEGER_BLOB, *PCRYPT_INTEGER_BLOB, CERT_NAME_BLOB, *PCERT_NAME_BLOB;
typedef struct _CERT_INFO *PCERT_INFO;
typedef struct _CERT_CONTEXT { DWORD dwCertEncodingType; BYTE *pbCertEncoded; DWORD cbCertEncoded; PCERT_INFO pCertInfo; HCERTSTORE hCertStore; } CERT_CONTEXT, *PCERT_CONTEXT;
typedef const CERT_CONTEXT *PCCERT_CONTEXT;
typedef struct _CERT_CHAIN_CONTEXT *PCERT_CHAIN_CONTEXT;
typedef const struct _CERT_CHAIN_CONTEXT *PCCERT_CHAIN_CONTEXT;
typedef struct _CRYPTPROTECT_PROMPTSTRUCT { DWORD cbSize; DWORD dwPromptFlags; HWND hwndApp; LPCWSTR szPrompt; } CRYPTPROTECT_PROMPTSTRUCT, *PCRYPTPROTECT_PROMPTSTRUCT;
typedef PVOID BCRYPT_HANDLE, BCRYPT_ALG_HANDLE, BCRYPT_KEY_HANDLE, BCRYPT_HASH_HANDLE;

//@winsock2.h
typedef unsigned char u_char;
typedef unsigned short u_short;
typedef unsigned int u_int;
typedef unsigned long u_long;
typedef int socklen_t;
typedef struct in_addr { union { struct { u_char s_b1, s_b2, s_b3, s_b4; } S_un_b; struct { u_short s_w1, s_w2; } S_un_w; u_long S_addr; } S_un; } IN_ADDR, *PIN_ADDR;
typedef struct in6_addr { union { u_char Byte[16]; u_short Word[8]; } u; } IN6_ADDR, *PIN6_ADDR;
typedef struct sockaddr { u_short sa_family; char sa_data[14]; } SOCKADDR, *PSOCKADDR, *LPSOCKADDR;
typedef struct sockaddr_in { short sin_family; u_short sin_port; struct in_addr sin_addr; char sin_zero[8]; } SOCKADDR_IN, *PSOCKADDR_IN;
typedef struct sockaddr_in6 { short sin6_family; u_short sin6_port; u_long sin6_flowinfo; struct in6_addr sin6_addr; u_long sin6_scope_id; } SOCKADDR_IN6, *PSOCKADDR_IN6;
typedef struct sockaddr_storage { short ss_family; char __ss_pad1[6]; long long __ss_align; char __ss_pad2[112]; } SOCKADDR_STORAGE, *PSOCKADDR_STORAGE;
typedef struct hostent { char *h_name; char **h_aliases; short h_addrtype; short h_length; char **h_addr_list; } HOSTENT, *PHOSTENT, *LPHOSTENT;
typedef struct servent { char *s_name; char **s_aliases;
#ifdef _WIN64
    char *s_proto; short s_port;
#else
    short s_port; char *s_proto;
#endif
} SERVENT, *PSERVENT;
typedef struct timeval { long tv_sec; long tv_usec; } TIMEVAL, *PTIMEVAL;
typedef struct fd_set { u_int fd_count; SOCKET fd_array[64]; } FD_SET, *LPFD_SET;
typedef struct linger { u_short l_onoff; u_short l_linger; } LINGER;
typedef struct WSAData { WORD wVersion; WORD wHighVersion;
#ifdef _WIN64
    unsigned short iMaxSockets; unsigned short iMaxUdpDg; char *lpVendorInfo; char szDescription[257]; char szSystemStatus[129];
#else
    char szDescription[257]; char szSystemStatus[129]; unsigned short iMaxSockets; unsigned short iMaxUdpDg; char *lpVendorInfo;
#endif
} WSADATA, *LPWSADATA;
typedef struct _WSABUF { ULONG len; CHAR *buf; } WSABUF, *LPWSABUF;
typedef HANDLE WSAEVENT, *LPWSAEVENT;
typedef unsigned int GROUP;
typedef struct _WSAPROTOCOL_INFOA *LPWSAPROTOCOL_INFOA;
typedef struct _WSAPROTOCOL_INFOW *LPWSAPROTOCOL_INFOW;
typedef struct _QualityOfService *LPQOS;
typedef struct _WSANETWORKEVENTS { long lNetworkEvents; int iErrorCode[10]; } WSANETWORKEVENTS, *LPWSANETWORKEVENTS;
typedef struct pollfd { SOCKET fd; SHORT events; SHORT revents; } WSAPOLLFD, *LPWSAPOLLFD;
typedef struct addrinfo { int ai_flags, ai_family, ai_socktype, ai_protocol; size_t ai_addrlen; char *ai_canonname; struct sockaddr *ai_addr; struct addrinfo *ai_next; } ADDRINFOA, *PADDRINFOA;
typedef struct addrinfoW { int ai_flags, ai_family, ai_socktype, ai_protocol; size_t ai_addrlen; PWSTR ai_canonname; struct sockaddr *ai_addr; struct addrinfoW *ai_next; } ADDRINFOW, *PADDRINFOW;
typedef void (__stdcall *LPWSAOVERLAPPED_COMPLETION_ROUTINE)(DWORD error, DWORD transferred, LPOVERLAPPED overlapped, DWORD flags);

//@wininet.h
typedef WORD INTERNET_PORT;
typedef void (__stdcall *INTERNET_STATUS_CALLBACK)(HINTERNET handle, DWORD_PTR context, DWORD status, LPVOID information, DWORD length);
typedef void (__stdcall *WINHTTP_STATUS_CALLBACK)(HINTERNET handle, DWORD_PTR context, DWORD status, LPVOID information, DWORD length);
typedef struct { DWORD dwStructSize; LPSTR lpszScheme; DWORD dwSchemeLength; int nScheme; LPSTR lpszHostName; DWORD dwHostNameLength; INTERNET_PORT nPort; LPSTR lpszUserName; DWORD dwUserNameLength; LPSTR lpszPassword; DWORD dwPasswordLength; LPSTR lpszUrlPath; DWORD dwUrlPathLength; LPSTR lpszExtraInfo; DWORD dwExtraInfoLength; } URL_COMPONENTSA, *LPURL_COMPONENTSA;
typedef struct { DWORD dwStructSize; LPWSTR lpszScheme; DWORD dwSchemeLength; int nScheme; LPWSTR lpszHostName; DWORD dwHostNameLength; INTERNET_PORT nPort; LPWSTR lpszUserName; DWORD dwUserNameLength; LPWSTR lpszPassword; DWORD dwPasswordLength; LPWSTR lpszUrlPath; DWORD dwUrlPathLength; LPWSTR lpszExtraInfo; DWORD dwExtraInfoLength; } URL_COMPONENTSW, *LPURL_COMPONENTSW;
typedef struct _INTERNET_BUFFERSA *LPINTERNET_BUFFERSA;
typedef struct _INTERNET_BUFFERSW *LPINTERNET_BUFFERSW;

//@objbase.h
struct IUnknown;
struct IUnknownVtbl { HRESULT (__stdcall *QueryInterface)(struct IUnknown *self, REFIID id, void **object); ULONG (__stdcall *AddRef)(struct IUnknown *self); ULONG (__stdcall *Release)(struct IUnknown *self); };
typedef struct IUnknown { struct IUnknownVtbl *lpVtbl; } IUnknown, *LPUNKNOWN;
typedef struct IStream IStream, *LPSTREAM;
typedef struct IStorage IStorage, *LPSTORAGE;
typedef struct IBindCtx IBindCtx, *LPBC;
typedef struct IMoniker IMoniker, *LPMONIKER;
typedef struct IMalloc IMalloc, *LPMALLOC;
typedef struct IDataObject IDataObject, *LPDATAOBJECT;
typedef struct IDropTarget IDropTarget, *LPDROPTARGET;
typedef struct IDropSource IDropSource, *LPDROPSOURCE;
typedef struct ITypeInfo ITypeInfo;
typedef struct ITypeLib ITypeLib;
typedef struct IDispatch IDispatch, *LPDISPATCH;
typedef unsigned short VARTYPE;
typedef short VARIANT_BOOL;
typedef struct tagSAFEARRAYBOUND { ULONG cElements; LONG lLbound; } SAFEARRAYBOUND;
typedef struct tagSAFEARRAY { USHORT cDims, fFeatures; ULONG cbElements, cLocks; PVOID pvData; SAFEARRAYBOUND rgsabound[1]; } SAFEARRAY, *LPSAFEARRAY;
typedef struct tagVARIANT { VARTYPE vt; WORD wReserved1, wReserved2, wReserved3; union { LONGLONG llVal; LONG lVal; BYTE bVal; SHORT iVal; FLOAT fltVal; DOUBLE dblVal; VARIANT_BOOL boolVal; DATE date; BSTR bstrVal; IUnknown *punkVal; IDispatch *pdispVal; SAFEARRAY *parray; PVOID byref; struct { PVOID pvRecord; PVOID pRecInfo; } record; }; } VARIANT, *LPVARIANT, VARIANTARG, *LPVARIANTARG;
typedef struct _COAUTHIDENTITY COAUTHIDENTITY;
typedef struct _COSERVERINFO { DWORD dwReserved1; LPWSTR pwszName; PVOID pAuthInfo; DWORD dwReserved2; } COSERVERINFO;
typedef struct tagMULTI_QI { const IID *pIID; IUnknown *pItf; HRESULT hr; } MULTI_QI;
typedef struct _SOLE_AUTHENTICATION_SERVICE { DWORD dwAuthnSvc; DWORD dwAuthzSvc; OLECHAR *pPrincipalName; HRESULT hr; } SOLE_AUTHENTICATION_SERVICE;

//@shellapi.h
#ifndef _WIN64
#pragma pack(push, 1)
#endif
typedef struct _SHELLEXECUTEINFOA { DWORD cbSize; ULONG fMask; HWND hwnd; LPCSTR lpVerb, lpFile, lpParameters, lpDirectory; int nShow; HINSTANCE hInstApp; void *lpIDList; LPCSTR lpClass; HKEY hkeyClass; DWORD dwHotKey; HANDLE hIcon; HANDLE hProcess; } SHELLEXECUTEINFOA, *LPSHELLEXECUTEINFOA;
typedef struct _SHELLEXECUTEINFOW { DWORD cbSize; ULONG fMask; HWND hwnd; LPCWSTR lpVerb, lpFile, lpParameters, lpDirectory; int nShow; HINSTANCE hInstApp; void *lpIDList; LPCWSTR lpClass; HKEY hkeyClass; DWORD dwHotKey; HANDLE hIcon; HANDLE hProcess; } SHELLEXECUTEINFOW, *LPSHELLEXECUTEINFOW;
typedef struct _ITEMIDLIST *LPITEMIDLIST, *PIDLIST_ABSOLUTE;
typedef const struct _ITEMIDLIST *LPCITEMIDLIST, *PCIDLIST_ABSOLUTE;
typedef struct _browseinfoA *LPBROWSEINFOA;
typedef struct _browseinfoW *LPBROWSEINFOW;
typedef struct _SHFILEOPSTRUCTA *LPSHFILEOPSTRUCTA;
typedef struct _SHFILEOPSTRUCTW *LPSHFILEOPSTRUCTW;
typedef struct _NOTIFYICONDATAA *PNOTIFYICONDATAA;
typedef struct _NOTIFYICONDATAW *PNOTIFYICONDATAW;
typedef struct _SHFILEINFOA { HICON hIcon; int iIcon; DWORD dwAttributes; CHAR szDisplayName[260]; CHAR szTypeName[80]; } SHFILEINFOA;
typedef struct _SHFILEINFOW { HICON hIcon; int iIcon; DWORD dwAttributes; WCHAR szDisplayName[260]; WCHAR szTypeName[80]; } SHFILEINFOW;

//@crt.h
typedef struct _iobuf { char *_ptr; int _cnt; char *_base; int _flag; int _file; int _charbuf; int _bufsiz; char *_tmpfname; } FILE;
typedef unsigned short wint_t, wctype_t;
typedef int errno_t;
typedef long __time32_t;
typedef long long __time64_t;
typedef long clock_t;
struct tm { int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst; };
struct _finddata32_t_ { unsigned attrib; __time32_t time_create, time_access, time_write; unsigned long size; char name[260]; };
typedef struct _div_t { int quot; int rem; } div_t;
typedef long long fpos_t;
typedef void (__cdecl *_PVFV)(void);
typedef int (__cdecl *_PIFV)(void);
typedef int (__cdecl *_onexit_t)(void);
typedef struct { int newmode; } _startupinfo;
struct lconv;
typedef void (__cdecl *_crt_signal_t)(int);
struct _exception { int type; char *name; double arg1, arg2, retval; };
typedef int (__cdecl *_UserMathErrorFunctionPointer)(struct _exception *);
typedef struct _onexit_table_t { _PVFV *_first, *_last, *_end; } _onexit_table_t;
