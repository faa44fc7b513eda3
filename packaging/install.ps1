# Installs Trunkline @VERSION@ for this user: downloads the programs, compares their checksum, and puts them into one
# folder. It needs no administrator, and changes nothing else.
param(
    [string]$To = (Join-Path $env:LOCALAPPDATA 'Programs\Trunkline'),
    [string]$Url = $(if ($env:TRUNKLINE_URL) { $env:TRUNKLINE_URL } else { '@URL@' })
)
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'

if (-not $Url) { throw 'from where? Say -Url URL' }
$folder = '@FOLDER@'
$archive = '@ARCHIVE@'
$work = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
New-Item -ItemType Directory -Path $work | Out-Null
try {
    Write-Output "Trunkline @VERSION@ for @PLATFORM@"
    Write-Output "downloading $Url/$archive"
    Invoke-WebRequest -UseBasicParsing -Uri "$Url/$archive" -OutFile (Join-Path $work $archive)
    Invoke-WebRequest -UseBasicParsing -Uri "$Url/SHA256SUMS" -OutFile (Join-Path $work 'SHA256SUMS')
    $wanted = Get-Content (Join-Path $work 'SHA256SUMS') |
        ForEach-Object { , ($_ -split '\s+') } |
        Where-Object { $_[1] -eq $archive } |
        ForEach-Object { $_[0] }
    if (-not $wanted) { throw "$Url/SHA256SUMS has no line for $archive" }
    $found = (Get-FileHash -Algorithm SHA256 (Join-Path $work $archive)).Hash
    if ($found -ne $wanted) {
        throw "$archive is not what SHA256SUMS says it is: expected $wanted, found $found. Nothing was installed."
    }
    Write-Output 'its checksum is right'
    Expand-Archive -Path (Join-Path $work $archive) -DestinationPath $work
    New-Item -ItemType Directory -Force -Path $To | Out-Null
    foreach ($program in 'trunkline.exe', 'mcp-simple-aggregator.exe') {
        Copy-Item -Force (Join-Path (Join-Path $work $folder) $program) (Join-Path $To $program)
        Write-Output "installed $(Join-Path $To $program)"
    }
    & (Join-Path $To 'trunkline.exe') --version | Out-Null
    if ($LASTEXITCODE -ne 0) { throw "$To\trunkline.exe does not run here" }
} finally {
    Remove-Item -Recurse -Force $work
}
if (($env:Path -split ';') -notcontains $To) {
    Write-Output "next: add it to your Path: [Environment]::SetEnvironmentVariable('Path', `"`$([Environment]::GetEnvironmentVariable('Path', 'User'));$To`", 'User')"
}
Write-Output 'next: trunkline setup (it shows a plan and asks first)'
